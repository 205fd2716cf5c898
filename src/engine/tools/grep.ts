import { z } from 'zod';
import type { GrepRequest, GrepResult } from '../../domain/search-tools.ts';
import type { Sandbox } from './command.ts';
import { pathWithin, runToolProgram } from './tool-program.ts';

const count = z.int().min(0);

const tool = {
  name: 'grep',
  match: z.object({
    path: z.string(),
    escaped: z.boolean().default(false),
    line: count,
    column: count,
    text: z.string(),
    cut: z.boolean(),
  }),
  summary: z.object({
    done: z.literal(true),
    truncated: z.boolean(),
    files_searched: count,
    binary_skipped: count,
    lines_cut: count,
    unreadable: count,
  }),
};

export async function grep(
  sandbox: Sandbox,
  { pattern, path, include, caseInsensitive, limit, gitDir }: GrepRequest,
  signal: AbortSignal,
): Promise<GrepResult> {
  const request = {
    pattern,
    limit,
    case_insensitive: caseInsensitive,
    git_dir: gitDir,
    ...(include !== undefined && { include }),
  };
  const { matches, summary } = await runToolProgram(sandbox, tool, path, request, signal);
  return {
    matches: matches.map((match) => ({
      ...pathWithin(path, { path: match.path, escaped: match.escaped }),
      line: match.line,
      column: match.column,
      text: match.text,
      cut: match.cut,
    })),
    truncated: summary.truncated,
    filesSearched: summary.files_searched,
    binarySkipped: summary.binary_skipped,
    linesCut: summary.lines_cut,
    unreadable: summary.unreadable,
  };
}
