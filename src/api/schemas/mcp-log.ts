import { z } from 'zod';
import type { McpLogLine } from '../../domain/mcp.ts';
import { flag, timestamp } from './text.ts';

export const mcpLogsQuery = z.strictObject({
  tail: z.coerce
    .number<string>()
    .int()
    .min(0)
    .max(10_000)
    .default(100)
    .describe('How many of the newest lines.'),
  follow: flag.default(false).describe('true: server-sent events, each line as it comes.'),
});

const mcpLogLine = z
  .object({
    number: z.int(),
    at: timestamp,
    stream: z
      .enum(['stdout', 'stderr', 'stray', 'host'])
      .describe('stray: on its standard output, and no message. host: about it, not by it.'),
    text: z.string(),
  })
  .meta({ id: 'McpLogLine' });

export const mcpLogLines = z
  .object({ items: z.array(mcpLogLine).describe('Oldest first.') })
  .meta({ id: 'McpLogLines' });

export const mcpLogStream = z
  .string()
  .describe('Server-sent events named "line", whose data is an McpLogLine.');

export function presentLogLine({ number, at, stream, text }: McpLogLine) {
  return { number, at: at.toISOString(), stream, text };
}
