import { z } from 'zod';
import { readLimits } from '../../domain/tools.ts';
import type { ReadResult } from '../../domain/tools.ts';
import { filePath } from './text.ts';

const count = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** What a file may hold, as far as JSON can say it: any text, empty or with NULs, that can be written as UTF-8. */
const content = z.string().refine((value) => value.isWellFormed(), 'must be well-formed Unicode');

export const readBody = z
  .strictObject({
    file_path: filePath.describe('A file or a directory; relative to /workspace.'),
    offset: count.default(1).describe('The first line, or entry of a directory, to show.'),
    limit: count.default(readLimits.lines).describe('How many to show at most.'),
  })
  .meta({ id: 'Read' });

const part = {
  file_path: z.string().describe('Absolute.'),
  truncated: z.boolean().describe('More follows.'),
  next_offset: z.int().nullable().describe('Where to read on; null at the end.'),
};

const textFile = z.object({
  ...part,
  kind: z.literal('text'),
  size: z
    .int()
    .nullable()
    .describe('In bytes; null where only reading tells, as for files in /proc.'),
  content: z
    .string()
    .describe(
      'Each line as `N: text`, without its ending; a line of more than 2,000 characters is cut, with a mark. At ' +
        'most 50 KB.',
    ),
  lines: z.int().describe('How many are shown.'),
  total_lines: z.int().nullable().describe('Null where the end was not reached.'),
  line_ending: z
    .enum(['lf', 'crlf', 'mixed'])
    .nullable()
    .describe('Of the lines up to the last one shown; null where none has an ending.'),
  ends_with_newline: z
    .boolean()
    .nullable()
    .describe('Whether the last line has an ending; null where the end was not reached.'),
});

const directory = z.object({
  ...part,
  kind: z.literal('directory'),
  entries: z
    .array(z.string())
    .describe(
      'Sorted; directories, and links to them, end in a slash. Names that are not UTF-8 are not exact.',
    ),
  total_entries: z.int(),
});

const binaryFile = z.object({
  kind: z.literal('binary'),
  file_path: z.string(),
  size: z.int().nullable(),
});

export const readResult = z
  .discriminatedUnion('kind', [textFile, directory, binaryFile])
  .meta({ id: 'ReadResult' });

export const writeBody = z
  .strictObject({ file_path: filePath, content: content.describe('The whole file.') })
  .meta({ id: 'Write' });

export const writeResult = z
  .object({
    file_path: z.string(),
    size: z.int(),
    created: z.boolean().describe('There was no such file before.'),
  })
  .meta({ id: 'WriteResult' });

export const editBody = z
  .strictObject({
    file_path: filePath,
    old_string: content
      .min(1, { error: 'must not be empty', abort: true })
      .describe('Must occur exactly once, unless replace_all is set.'),
    new_string: content,
    replace_all: z.boolean().default(false),
  })
  .meta({ id: 'Edit' });

export const editResult = z
  .object({ file_path: z.string(), size: z.int(), replacements: z.int() })
  .meta({ id: 'EditResult' });

export function presentRead(result: ReadResult): z.input<typeof readResult> {
  const { path: file_path } = result;
  if (result.kind === 'binary') return { kind: result.kind, file_path, size: result.size };
  const shown = { file_path, truncated: result.truncated, next_offset: result.nextOffset };
  if (result.kind === 'directory') {
    const { kind, entries, totalEntries } = result;
    return { kind, ...shown, entries: [...entries], total_entries: totalEntries };
  }
  return {
    kind: result.kind,
    ...shown,
    size: result.size,
    content: result.content,
    lines: result.lines,
    total_lines: result.totalLines,
    line_ending: result.lineEnding,
    ends_with_newline: result.endsWithNewline,
  };
}
