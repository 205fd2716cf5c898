import { Duplex } from 'node:stream';
import { systemClock } from '../../../src/base/clock.ts';
import { GuestSandbox } from '../../../src/providers/guest/sandbox.ts';

/**
 * Dials streams that end as they are handed over, and prints what each request hears. A program of its own,
 * because Node tells of these ends out of any promise's reach: what throws there ends the process.
 */
const streams = {
  failed: (stream: Duplex): unknown => stream.destroy(new Error('the container is gone')),
  babbling: (stream: Duplex): unknown => stream.push('HTTP/1.1 400 Bad Request\r\n\r\n'.repeat(4)),
};

for (const [name, spoil] of Object.entries(streams)) {
  const dial = async (): Promise<Duplex> => {
    const stream = new Duplex({
      read: () => undefined,
      write: (_chunk, _encoding, done) => {
        done();
      },
    });
    stream.on('error', () => undefined);
    spoil(stream);
    return stream;
  };
  const sandbox = new GuestSandbox({ dial, token: 'none', clock: systemClock });
  await sandbox.ready(AbortSignal.timeout(30_000)).catch((error: unknown) => {
    console.log(`${name}: ${String(error)}`);
  });
  sandbox.close();
}
