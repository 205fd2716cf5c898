import { exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { reportFailure } from '../terminal/report.ts';
import { checkId, resolveId } from './ids.ts';

const atOnce = 4;

/**
 * Does `work` on every workspace that is named, some at a time, and hands what came of each to `done`, in the
 * order of the names. One that fails is reported and makes the exit code 1; the others go on.
 */
export async function eachWorkspace<T>(
  texts: readonly string[],
  options: CommonOptions,
  work: (client: ApiClient, id: string) => Promise<T>,
  done: (result: T) => Promise<void>,
): Promise<void> {
  // A slip of the keyboard changes nothing, not even what stands before it.
  texts.forEach(checkId);
  const client = ApiClient.connect(options);
  const one = async (text: string): Promise<T> => work(client, await resolveId(client, text));
  await eachInTurn(texts, options, one, done);
}

/** The same for anything that is named. */
export async function eachInTurn<T>(
  texts: readonly string[],
  options: CommonOptions,
  work: (text: string) => Promise<T>,
  done: (result: T) => Promise<void>,
): Promise<void> {
  for (const result of inTurns(texts, work)) {
    try {
      await done(await result);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      reportFailure(error, options.json === true);
      process.exitCode = exitCodes.failure;
      // Without a server the others fail just the same.
      if (error.code === 'unreachable') return;
    }
  }
}

/** All results, in order, as promises; no more than `atOnce` of them are being worked on. */
function inTurns<T>(
  items: readonly string[],
  work: (item: string) => Promise<T>,
): readonly Promise<T>[] {
  const results: Promise<T>[] = [];
  for (const item of items) {
    const before = results[results.length - atOnce];
    const ended = before
      ? before.then(
          () => undefined,
          () => undefined,
        )
      : Promise.resolve();
    const result = ended.then(() => work(item));
    // Each is looked at in its turn, perhaps long after it has failed.
    result.catch(() => undefined);
    results.push(result);
  }
  return results;
}
