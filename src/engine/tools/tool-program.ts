import { posix } from 'node:path';
import { z } from 'zod';
import { EmergentError } from '../../domain/errors.ts';
import { searchLimits } from '../../domain/search-tools.ts';
import type { FoundPath } from '../../domain/search-tools.ts';
import { runCommand } from './command.ts';
import type { Sandbox } from './command.ts';

const workspace = '/workspace';
/** More than the largest answer: every match with the longest path, escaped. */
const maxAnswerBytes = 32 * 2 ** 20;
const maxStderrBytes = 4 * 1024;

const refusal = z.object({
  error: z.object({
    code: z.enum(['invalid_value', 'file_not_found', 'permission_denied', 'internal']),
    message: z.string().max(10_000),
  }),
});

export interface ToolAnswer<Match, Summary> {
  readonly matches: readonly Match[];
  readonly summary: Summary;
}

/**
 * Runs one tool of the program that the provider has in its sandboxes. What it answers comes out of the sandbox:
 * it is bounded, and held against the shapes.
 */
export async function runToolProgram<Match, Summary>(
  sandbox: Sandbox,
  tool: { readonly name: string; readonly match: z.ZodType<Match>; summary: z.ZodType<Summary> },
  path: string,
  request: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolAnswer<Match, Summary>> {
  const { toolProgram, name } = sandbox.provider;
  if (!toolProgram) throw withoutProgram(name);
  const place = placeOf(path);
  const { exitCode, stdout, stdoutCut, stderr } = await runCommand(
    sandbox,
    {
      what: tool.name,
      argv: [...toolProgram, tool.name],
      workdir: place.workdir,
      stdin: JSON.stringify({ ...request, root: place.root }),
      deadlineMs: searchLimits.deadlineMs,
      maxStdoutBytes: maxAnswerBytes,
      maxStderrBytes,
    },
    signal,
  );
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  const last = lines.pop() ?? '';
  if (exitCode !== 0 || stdoutCut)
    throw failure(last, path, `exit code ${String(exitCode)}: ${stderr}`);
  return {
    matches: lines.map((line) => parse(tool.match, line)),
    summary: parse(tool.summary, last),
  };
}

/** Where a found path lies: `found` is relative to `path`, and empty where that is itself a file. */
export function pathWithin(path: string, found: FoundPath): FoundPath {
  const directory = posix.resolve(workspace, path);
  const above = found.escaped ? directory.replaceAll('\\', '\\\\') : directory;
  return { ...found, path: posix.join(above, found.path) };
}

/**
 * Where the program starts and what it searches from there. Files of the workspace are named from /workspace, which
 * lies elsewhere with providers that do not have a filesystem of their own.
 */
function placeOf(path: string): { workdir: string; root: string } {
  const absolute = posix.resolve(workspace, path);
  const inside = posix.relative(workspace, absolute);
  const outside = inside === '..' || inside.startsWith('../');
  return outside
    ? { workdir: '/', root: posix.relative('/', absolute) || '.' }
    : { workdir: workspace, root: inside || '.' };
}

function failure(answer: string, path: string, otherwise: string): EmergentError {
  const refused = refusal.safeParse(jsonOf(answer)).data?.error;
  if (!refused || refused.code === 'internal') {
    return new EmergentError(
      'provider_failed',
      refused?.message ?? `the tool failed, ${otherwise}`,
    );
  }
  const about = refused.code === 'invalid_value' ? '' : `${path}: `;
  return new EmergentError(refused.code, about + refused.message);
}

function parse<T>(shape: z.ZodType<T>, line: string): T {
  const parsed = shape.safeParse(jsonOf(line));
  if (parsed.success) return parsed.data;
  throw new EmergentError('provider_failed', 'the tool answered with something else than a result');
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function withoutProgram(provider: string): EmergentError {
  return new EmergentError('unsupported', `${provider} has no program for this in its sandboxes`, {
    hint: 'The guest agent is not built on this host: `emergent doctor` says what is missing.',
  });
}
