import type { z } from 'zod';
import type { BashRequest, BashResult } from '../../domain/bash.ts';
import { EmergentError } from '../../domain/errors.ts';
import { bashBody, bashResult, presentOutcome, toBashRequest } from '../schemas/bash.ts';
import type { Call } from './call.ts';
import { OutputTail } from './output-tail.ts';
import { workspaceTool } from './tool.ts';

export const bash = workspaceTool(
  {
    name: 'bash',
    title: 'Run a shell command',
    description:
      'Run a command with bash in the workspace and wait for it. Each call is a new shell in /workspace: a `cd` or ' +
      'an `export` does not outlive it. A non-zero exit is an answer, not an error. Of each output 50 KB are kept, ' +
      'its beginning and its end. Cancelling the call kills the command and everything it started; for servers and ' +
      'other work that goes on, use start_process.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  {
    input: bashBody.shape,
    output: bashResult,
    async run(call, id, input) {
      const result = await toItsEnd(call, id, toBashRequest(input));
      return { stdout: result.stdout, stderr: result.stderr, ...presentOutcome(result) };
    },
    text: describe,
  },
);

/** Read to the end also when the call is cancelled: the engine is ending the command then, while somebody reads. */
async function toItsEnd(
  { engine, caller, signal, progress }: Call,
  id: string,
  request: BashRequest,
): Promise<BashResult> {
  const tail = new OutputTail();
  for await (const event of await engine.tools.bash(caller, id, request, signal)) {
    if (event.type === 'result') return event.result;
    if (event.type !== 'start') progress?.note(tail.push(event.type, event.data));
  }
  throw new EmergentError('sandbox_unreachable', 'the command ended without a result');
}

/** What a person would see on a terminal, and then how it ended. */
function describe(result: z.output<typeof bashResult>): string {
  const parts = [
    result.stdout,
    result.stderr && `[stderr]\n${result.stderr}`,
    `[${ending(result)}]`,
  ];
  return parts
    .filter((part) => part !== '')
    .map((part) => part.replace(/\n$/, ''))
    .join('\n');
}

function ending(result: z.output<typeof bashResult>): string {
  const facts = [`exit code ${String(result.exit_code)}`];
  if (result.signal !== null) facts.push(`killed by ${result.signal}`);
  if (result.timed_out) facts.push('timed out');
  if (result.interrupted) facts.push('the workspace was stopped or destroyed meanwhile');
  if (result.background) facts.push('processes that it started still run');
  if (result.truncated) facts.push('the middle of the output was left out');
  return facts.join('; ');
}
