import { z } from 'zod';
import { processSignals } from '../../domain/exec.ts';
import { command } from './bash.ts';
import { id, position } from './text.ts';

/** The kernel counts in 16 bits; nobody's screen is that large. */
const maxCells = 10_000;
const cells = z.coerce.number<string>().int().min(1).max(maxCells);

export const terminalQuery = z
  .strictObject({
    process_id: id.optional().describe('A terminal to come back to; without it, a new one.'),
    offset: position.optional().describe('How many bytes of its output the caller has already.'),
    cols: cells.describe('Width in characters.'),
    rows: cells.describe('Height in characters.'),
    command: command.optional().describe("Run by bash -c; without it, the image's shell."),
  })
  .refine((query) => query.process_id === undefined || query.command === undefined, {
    error: 'a terminal to come back to runs its command already',
    path: ['command'],
  })
  .refine((query) => query.process_id !== undefined || query.offset === undefined, {
    error: 'a new terminal begins at its beginning',
    path: ['offset'],
  });

const size = z.int().min(1).max(maxCells);

/** What a client says in a text message. */
export const terminalControl = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), cols: size, rows: size }),
  z.strictObject({ type: z.literal('signal'), name: z.enum(processSignals) }),
]);
export type TerminalControl = z.output<typeof terminalControl>;

/** What the server says in a text message. */
export type TerminalNotice =
  | {
      readonly type: 'ready';
      readonly process_id: string;
      readonly pid: number;
      readonly offset: number;
    }
  | { readonly type: 'skipped'; readonly bytes: number }
  | { readonly type: 'exit'; readonly exit_code: number; readonly signal: string | null }
  | { readonly type: 'error'; readonly error: unknown };

/** Why the server closes a terminal's connection. */
export const closeCodes = {
  /** `exit` came before. */
  ended: 1000,
  /** A message that is not one of ours; `error` came before. */
  refused: 1008,
  /** `error` came before. */
  failed: 1011,
  /** Come back with `process_id` and `offset`. */
  restarting: 1012,
} as const;
