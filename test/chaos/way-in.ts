import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../../src/base/deadline.ts';
import { join } from './join-streams.ts';

const relay = fileURLToPath(new URL('relay.ts', import.meta.url));
const startMs = 60_000;

/** A port here that leads to one in another network namespace. */
export interface WayIn extends AsyncDisposable {
  readonly port: number;
}

/** By a unix socket at `path`, which is the same in every network namespace. */
export async function openWayIn(namespace: string, port: number, path: string): Promise<WayIn> {
  await using opening = new AsyncDisposableStack();
  const argv = [`--net=${namespace}`, process.execPath, relay, path, String(port)];
  // A session of its own: a Ctrl-C at the terminal ends it through us, last.
  const child = spawn('nsenter', argv, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  opening.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await withDeadline('a way into the namespace', startMs, (signal) =>
    once(child.stdout, 'data', { signal }),
  );
  const here = createServer((incoming) => {
    join(incoming, connect(path));
  });
  here.listen(0, '127.0.0.1');
  await once(here, 'listening');
  opening.defer(() => {
    here.close();
  });
  const opened = opening.move();
  return {
    port: (here.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
