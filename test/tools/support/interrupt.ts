import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { FileTools } from './file-tools.ts';

export interface Contents {
  readonly before: string;
  readonly after: string;
}

type Change = (
  tools: FileTools,
  path: string,
  contents: Contents,
  signal: AbortSignal,
) => Promise<unknown>;

/** The two ways of replacing a file. */
export const changes: readonly { readonly name: string; readonly change: Change }[] = [
  { name: 'write', change: (tools, path, { after }, signal) => tools.write(path, after, signal) },
  {
    name: 'edit',
    change: (tools, path, { before, after }, signal) =>
      tools.edit(path, before.slice(0, 32), after.slice(0, 32), { signal }),
  },
];

/** Enough for many pieces on their way. */
const bytes = 1_500_000;

/** They differ in the first 32 characters only, which no other place has. */
export function newContents(): Contents {
  const [one, two] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const rest = '.'.repeat(bytes);
  return { before: `${one}${rest}`, after: `${two}${rest}!`.slice(0, bytes + 32) };
}

export interface Interruption {
  readonly tools: FileTools;
  readonly path: string;
  readonly change: (contents: Contents) => Promise<unknown>;
  /** When, from 0 to 1: at once, or so late that it is probably done. */
  readonly at: number;
  /** Ends it, and makes the file readable again. */
  readonly stop: () => Promise<void>;
}

/** Follows the time that a change takes here and now, so that about half of them are cut short. */
let reachMs = 20;

/** Begins a change, stops it somewhere on its way, and tells which file is left: a whole one, or the test fails. */
export async function interrupt(interruption: Interruption): Promise<'old' | 'new'> {
  const { tools, path } = interruption;
  const contents = newContents();
  await tools.sandbox.write(path, Buffer.from(contents.before));
  const changing = interruption.change(contents).then(
    () => true,
    () => false,
  );
  await systemClock.sleep(interruption.at * reachMs);
  await interruption.stop();
  const done = await changing;
  reachMs *= done ? 0.9 : 1.1;
  const found = await tools.text(path);
  if (found === contents.after) return 'new';
  expect(found === contents.before, `${String(found.length)} bytes of neither file`).toBe(true);
  expect(done, 'a change that was answered is there').toBe(false);
  return 'old';
}
