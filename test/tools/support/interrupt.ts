import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Random } from '../../chaos/random.ts';
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

/**
 * What so many interruptions at least have left. There is another one until each kind was seen: otherwise nothing would
 * be shown.
 */
export class Tally {
  readonly #least: number;
  readonly #counts: Map<string, number>;

  constructor(least: number, kinds: readonly string[]) {
    this.#least = least;
    this.#counts = new Map(kinds.map((kind) => [kind, 0]));
  }

  count(kind: string): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** Their numbers. */
  *rounds(): Generator<number> {
    const most = 3 * this.#least;
    for (let round = 0; round < most; round++) {
      if (round >= this.#least && [...this.#counts.values()].every((count) => count > 0)) return;
      yield round;
    }
    const seen = JSON.stringify(Object.fromEntries(this.#counts));
    throw new Error(`the moments of ${String(most)} interruptions were badly chosen: ${seen}`);
  }
}

/** A moment on the way of a change, chosen so that about half of them are cut short here and now. */
export class Moments {
  #reachMs = 20;
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** At once, or so late that the change is probably done, or in between. */
  async next(): Promise<void> {
    await systemClock.sleep(this.#random.next() * this.#reachMs);
  }

  wasDone(done: boolean): void {
    this.#reachMs *= done ? 0.85 : 1.2;
  }
}

export interface Interruption {
  readonly tools: FileTools;
  /** No other round's, where the agent lives on: it may yet do what it was told by somebody who has left. */
  readonly path: string;
  readonly change: (contents: Contents) => Promise<unknown>;
  readonly moments: Moments;
  /** Ends it, and makes the file readable again. */
  readonly stop: () => Promise<void>;
}

/** Begins a change, stops it somewhere on its way, and tells which file is left: a whole one, or the test fails. */
export async function interrupt(interruption: Interruption): Promise<'old' | 'new'> {
  const { tools, path, moments } = interruption;
  const contents = newContents();
  await tools.sandbox.write(path, Buffer.from(contents.before));
  const changing = interruption.change(contents).then(
    () => true,
    () => false,
  );
  await moments.next();
  await interruption.stop();
  const done = await changing;
  moments.wasDone(done);
  return whichIsLeft(await tools.text(path), contents, done);
}

/** `done`: the change was answered, so the new one must be there. */
export function whichIsLeft(
  found: string,
  { before, after }: Contents,
  done: boolean,
): 'old' | 'new' {
  if (found === after) return 'new';
  expect(found === before, `${String(found.length)} bytes of neither file`).toBe(true);
  expect(done, 'a change that was answered is there').toBe(false);
  return 'old';
}
