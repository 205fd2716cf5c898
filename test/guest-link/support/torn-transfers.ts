import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { systemClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { Dial } from '../../../src/providers/guest/dial.ts';
import { GuestSandbox } from '../../../src/providers/guest/sandbox.ts';
import { TestAgent } from './agent.ts';

/**
 * Ends transfers and output in their middle, in every way there is, and prints what each of them hears. A program
 * of its own: an error that a stream tells to nobody ends the process.
 */
process.on('warning', (warning) => {
  console.log(`warning: ${warning.message}`);
});
/** The pauses between attempts to reach an agent that is gone need not be waited for. */
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
};
const MiB = 2 ** 20;
const chunk = randomBytes(MiB);

const endings = {
  closed: async (_agent: TestAgent, sandbox: GuestSandbox) => {
    sandbox.close();
  },
  bridges: async (agent: TestAgent) => {
    for (const bridge of agent.bridges) bridge.kill();
  },
  agent: (agent: TestAgent) => agent.kill(),
  'given up': async (_agent: TestAgent, _sandbox: GuestSandbox, caller: AbortController) => {
    caller.abort();
  },
};

for (const [name, end] of Object.entries(endings)) {
  await using agent = await TestAgent.start();
  const sandbox = new GuestSandbox({ dial: agent.dial, token: agent.token, clock });
  const caller = new AbortController();
  const path = (file: string): string => join(agent.workdir, file);
  await writeFile(path('source'), '');
  await truncate(path('source'), 200 * MiB);
  // Leaves a stream that nobody uses.
  await sandbox.writeFile(path('before'), chunks(2), caller.signal);

  const begun = new EventTarget();
  const all = ['read', 'write', 'output'].map((work) => once(begun, work));
  const tell = (work: string): void => {
    begun.dispatchEvent(new Event(work));
  };
  const outcomes = Promise.all([
    outcome(async () => {
      const { content } = await sandbox.readFile(path('source'), caller.signal);
      await each(content, async () => {
        tell('read');
        await ended.promise;
        return false;
      });
    }),
    outcome(() =>
      sandbox.writeFile(path('target'), chunks(Infinity, tell, caller.signal), caller.signal),
    ),
    outcome(async () => {
      const process = await sandbox.exec({ argv: ['yes'] }, caller.signal);
      await each(process.events, async () => {
        tell('output');
        await ended.promise;
        return caller.signal.aborted;
      });
    }),
  ]);
  const ended = Promise.withResolvers<void>();
  await Promise.all(all);
  await end(agent, sandbox, caller);
  ended.resolve();
  // What reconnects does so to an agent that is there; in the end nobody needs it any more.
  if (name === 'bridges') await agent.kill();
  console.log(`${name}: ${(await outcomes).join(', ')}`);
  sandbox.close();
}

{
  await using agent = await TestAgent.start();
  const [asked, mayCome] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const came = Promise.withResolvers<Duplex>();
  const dial: Dial = async (signal) => {
    const isBulk = agent.bridges.length > 0;
    if (isBulk) asked.resolve();
    if (isBulk) await mayCome.promise;
    const stream = await agent.dial(signal);
    if (isBulk) came.resolve(stream);
    return stream;
  };
  const sandbox = new GuestSandbox({ dial, token: agent.token, clock });
  await sandbox.ready(AbortSignal.timeout(60_000));
  const caller = new AbortController();
  const path = join(agent.workdir, 'file');
  const written = outcome(() => sandbox.writeFile(path, chunks(2), caller.signal));
  await asked.promise;
  caller.abort();
  console.log(`given up while dialling: ${await written}`);
  mayCome.resolve();
  const unused = await came.promise;
  // Kept for the next transfer, until all is closed.
  await once(unused, 'free');
  const closed = Promise.withResolvers<void>();
  unused.once('close', closed.resolve);
  sandbox.close();
  await closed.promise;
}

{
  await using agent = await TestAgent.start();
  const sandbox = new GuestSandbox({ dial: agent.dial, token: agent.token, clock });
  const path = (index: number): string => join(agent.workdir, String(index));
  const signal = AbortSignal.timeout(60_000);
  const many = Array.from({ length: 40 }, (_, index) => path(index));
  await Promise.all(many.map((file) => sandbox.writeFile(file, chunks(2), signal)));
  const sizes = await Promise.all(
    many.map(async (file) => {
      let size = 0;
      for await (const data of (await sandbox.readFile(file, signal)).content) size += data.length;
      return size;
    }),
  );
  console.log(`at once: ${String(sizes.filter((size) => size === 2 * MiB).length)}`);
  console.log(`streams: ${agent.bridges.length <= 5 ? 'few' : String(agent.bridges.length)}`);
  sandbox.close();
}

async function* chunks(
  count: number,
  tell?: (work: string) => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count && !signal?.aborted; sent++) {
    if (sent === 20) tell?.('write');
    yield chunk;
  }
}

/** Takes one after the other until `use` has had enough. */
async function each<T>(items: AsyncIterable<T>, use: (item: T) => Promise<boolean>): Promise<void> {
  for await (const item of items) if (await use(item)) return;
}

async function outcome(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (error) {
    return error instanceof EmergentError ? error.code : String(error);
  }
}
