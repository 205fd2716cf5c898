import { z } from 'zod';
import { processSignals } from '../../domain/exec.ts';
import {
  presentProcess,
  process,
  processList,
  processParams,
  startProcessBody,
  toDetachedRequest,
} from '../schemas/process.ts';
import { collectOutput, outputInput, outputResult } from './process-output.ts';
import { workspaceTool } from './tool.ts';

const { process_id } = processParams.shape;

export const startProcess = workspaceTool(
  {
    name: 'start_process',
    title: 'Start a long-running command',
    description:
      'Start a command with bash and leave it running: a server, a watcher, a long build. It outlives this call and ' +
      'the connection. process_output shows what it writes, kill_process ends it.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  {
    input: startProcessBody.shape,
    output: process,
    async run({ engine, caller, signal }, id, input) {
      const wanted = toDetachedRequest(input);
      return presentProcess(await engine.processes.start(caller, id, wanted, signal));
    },
    text: ({ id, pid }) => `Started as process ${id} (pid ${String(pid)}).`,
  },
);

export const processOutput = workspaceTool(
  {
    name: 'process_output',
    title: 'Read the output of a process',
    description:
      'Read what a process has written, from any place on, and whether it still runs. Begin with offset 0 and go on ' +
      'with next_offset. With wait_ms the call waits until there is something new or the process ends.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    input: { process_id, ...outputInput },
    output: outputResult,
    run: collectOutput,
    text({
      output,
      status,
      exit_code: code,
      next_offset: next,
      truncated,
      skipped_bytes: skipped,
    }) {
      const state = status === 'running' ? 'running' : `exited with ${String(code)}`;
      const notes = [state, `read on with offset ${String(next)}`];
      if (truncated) notes.push('there is more');
      if (skipped > 0) notes.push(`${String(skipped)} bytes before this are no longer kept`);
      return `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}[${notes.join('; ')}]`;
    },
  },
);

export const listProcesses = workspaceTool(
  {
    name: 'list_processes',
    title: 'List processes',
    description:
      'List the commands that run in the workspace, and those that ended lately, those of bash included.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    input: {},
    output: processList,
    async run({ engine, caller, signal }, id) {
      const all = await engine.processes.list(caller, id, signal);
      return { items: all.map(presentProcess) };
    },
  },
);

export const killProcess = workspaceTool(
  {
    name: 'kill_process',
    title: 'End a process',
    description: 'Send a signal to a running command and everything it started.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    input: { process_id, signal: z.enum(processSignals).default('SIGTERM') },
    output: z.object({ process_id: z.string(), signal: z.enum(processSignals) }),
    async run({ engine, caller, signal }, id, { process_id: processId, signal: name }) {
      await engine.processes.signal(caller, id, processId, name, signal);
      return { process_id: processId, signal: name };
    },
    text: ({ process_id: processId, signal }) => `Sent ${signal} to process ${processId}.`,
  },
);
