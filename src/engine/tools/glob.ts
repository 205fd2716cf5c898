import { z } from 'zod';
import type { GlobRequest, GlobResult } from '../../domain/search-tools.ts';
import type { Sandbox } from './command.ts';
import { pathWithin, runToolProgram } from './tool-program.ts';

const count = z.int().min(0);

const tool = {
  name: 'glob',
  match: z.object({
    path: z.string(),
    escaped: z.boolean().default(false),
    kind: z.enum(['file', 'symlink', 'other']),
    size: count,
    /** What a Date can hold. */
    modified_ms: z.int().min(-8.64e15).max(8.64e15),
  }),
  summary: z.object({ done: z.literal(true), total: count, unreadable: count }),
};

export async function glob(
  sandbox: Sandbox,
  { pattern, path, limit, gitDir }: GlobRequest,
  signal: AbortSignal,
): Promise<GlobResult> {
  const request = { pattern, limit, git_dir: gitDir };
  const { matches, summary } = await runToolProgram(sandbox, tool, path, request, signal);
  return {
    matches: matches.map((match) => ({
      ...pathWithin(path, { path: match.path, escaped: match.escaped }),
      kind: match.kind,
      size: match.size,
      modifiedAt: new Date(match.modified_ms),
    })),
    total: summary.total,
    truncated: summary.total > matches.length,
    unreadable: summary.unreadable,
  };
}
