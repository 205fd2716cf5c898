import { z } from 'zod';
import { searchLimits } from '../../domain/search-tools.ts';
import type {
  GlobRequest,
  GlobResult,
  GrepRequest,
  GrepResult,
} from '../../domain/search-tools.ts';
import { filePath, text, timestamp } from './text.ts';

const globPattern = text(4096);

const path = filePath.default('/workspace');

const gitDir = z.boolean().default(false).describe('Also look into directories named .git.');

export const globBody = z
  .strictObject({
    pattern: globPattern.describe(
      'On paths relative to `path`: *, ?, [a-z], {a,b}, and ** for any number of directories.',
    ),
    path: path.describe('The directory to search; a relative one starts at /workspace.'),
    limit: z.int().min(1).max(searchLimits.globMatches).default(searchLimits.globMatches),
    include_git_dir: gitDir,
  })
  .meta({ id: 'Glob' });

const foundPath = {
  path: z.string().describe('Absolute.'),
  escaped: z
    .boolean()
    .describe('The path is not UTF-8: stray bytes are shown as \\xNN, backslashes doubled.'),
};

export const globResult = z
  .object({
    matches: z
      .array(
        z.object({
          ...foundPath,
          kind: z.enum(['file', 'symlink', 'other']),
          size: z.int(),
          modified_at: timestamp,
        }),
      )
      .describe('Newest first; no directories, and symbolic links are not followed.'),
    total: z.int().describe('How many match, also those beyond the limit.'),
    truncated: z.boolean(),
    unreadable: z.int().describe('Directories that could not be looked into.'),
  })
  .meta({ id: 'GlobResult' });

export const grepBody = z
  .strictObject({
    pattern: text(16 * 1024).describe("A regular expression in RE2's syntax, on single lines."),
    path: path.describe('The directory or file to search; a relative one starts at /workspace.'),
    include: globPattern
      .optional()
      .describe('Which files: a glob on their names, or on paths where it has a slash.'),
    case_insensitive: z.boolean().default(false),
    limit: z.int().min(1).max(searchLimits.grepMatches).default(searchLimits.grepMatches),
    include_git_dir: gitDir,
  })
  .meta({ id: 'Grep' });

export const grepResult = z
  .object({
    matches: z
      .array(
        z.object({
          ...foundPath,
          line: z.int(),
          column: z.int().describe('In bytes, from 1: where the first match of the line begins.'),
          text: z.string(),
          cut: z.boolean().describe('The text is only a part of the line.'),
        }),
      )
      .describe('One for each line, in the order of paths.'),
    truncated: z.boolean(),
    files_searched: z.int(),
    binary_skipped: z.int(),
    lines_cut: z.int().describe('Lines of which only the first 4 MiB were searched.'),
    unreadable: z.int().describe('Files and directories that could not be read.'),
  })
  .meta({ id: 'GrepResult' });

export function toGlobRequest(body: z.output<typeof globBody>): GlobRequest {
  const { pattern, limit } = body;
  return { pattern, path: body.path, limit, gitDir: body.include_git_dir };
}

export function presentGlob(result: GlobResult): z.output<typeof globResult> {
  return {
    matches: result.matches.map(({ modifiedAt, ...match }) => ({
      ...match,
      modified_at: modifiedAt.toISOString(),
    })),
    total: result.total,
    truncated: result.truncated,
    unreadable: result.unreadable,
  };
}

export function toGrepRequest(body: z.output<typeof grepBody>): GrepRequest {
  return {
    pattern: body.pattern,
    path: body.path,
    caseInsensitive: body.case_insensitive,
    limit: body.limit,
    gitDir: body.include_git_dir,
    ...(body.include !== undefined && { include: body.include }),
  };
}

export function presentGrep(result: GrepResult): z.output<typeof grepResult> {
  return {
    matches: [...result.matches],
    truncated: result.truncated,
    files_searched: result.filesSearched,
    binary_skipped: result.binarySkipped,
    lines_cut: result.linesCut,
    unreadable: result.unreadable,
  };
}
