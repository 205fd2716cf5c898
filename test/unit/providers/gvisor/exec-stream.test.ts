import { once } from 'node:events';
import { Duplex, PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExecStream } from '../../../../src/providers/gvisor/exec-stream.ts';

const [stdout, stderr] = [1, 2] as const;

/** As the engine frames what an exec'd program writes. */
function frame(kind: number, payload: string | Uint8Array): Buffer {
  const bytes = Buffer.from(payload as string);
  const header = Buffer.alloc(8);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

/** A stand-in for the hijacked connection: `engine` is the engine's end of it. */
function connect(): { stream: ExecStream; socket: Duplex; engine: PassThrough; sent: PassThrough } {
  const engine = new PassThrough();
  const sent = new PassThrough();
  const socket = Duplex.from({ readable: engine, writable: sent });
  return { stream: new ExecStream(socket), socket, engine, sent };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('ExecStream', () => {
  test('however the frames are cut, standard output comes out whole and standard error apart', async () => {
    const frames = fc.array(
      fc.record({ kind: fc.constantFrom(stdout, stderr), text: fc.string({ maxLength: 12 }) }),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(frames, fc.array(fc.nat(40)), async (written, cuts) => {
        const { stream, engine } = connect();
        const bytes = Buffer.concat(written.map(({ kind, text }) => frame(kind, text)));
        const read = buffer(stream);
        let at = 0;
        for (const size of cuts) {
          engine.write(bytes.subarray(at, at + size));
          at += size;
        }
        engine.end(bytes.subarray(at));
        const of = (kind: number): string =>
          written.flatMap((one) => (one.kind === kind ? one.text : [])).join('');
        if (of(stdout) === '' && of(stderr) !== '') await expect(read).rejects.toThrow();
        else expect((await read).toString()).toBe(of(stdout));
        expect(stream.stderr).toBe(of(stderr));
      }),
      { numRuns: 50 },
    );
  });

  test('a frame split at every byte boundary', async () => {
    const bytes = Buffer.concat([frame(stderr, 'no!'), frame(stdout, 'hello'), frame(stdout, '')]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { stream, engine } = connect();
      engine.write(bytes.subarray(0, cut));
      await turn();
      engine.end(bytes.subarray(cut));
      expect((await buffer(stream)).toString()).toBe('hello');
      expect(stream.stderr).toBe('no!');
    }
  });

  test('keeps only the first 2,000 bytes of standard error', async () => {
    const { stream, engine } = connect();
    for (let at = 0; at < 50; at++) engine.write(frame(stderr, String(at % 10).repeat(100)));
    engine.end(frame(stdout, 'x'));
    stream.resume();
    await once(stream, 'end');
    expect(stream.stderr).toHaveLength(2_000);
    expect(stream.stderr.startsWith('0'.repeat(100))).toBe(true);
  });

  test('standard error with a character split between frames is read right', async () => {
    const { stream, engine } = connect();
    const euro = Buffer.from('€');
    engine.write(frame(stderr, euro.subarray(0, 1)));
    engine.end(Buffer.concat([frame(stderr, euro.subarray(1)), frame(stdout, 'x')]));
    stream.resume();
    await once(stream, 'end');
    expect(stream.stderr).toBe('€');
  });

  test('a program that only complained has failed, with its own words', async () => {
    const { stream, engine } = connect();
    engine.end(frame(stderr, 'agent: bridge: no agent\n'));
    await expect(buffer(stream)).rejects.toThrow('agent: bridge: no agent');
  });

  test('a reader that does not read stops the socket; reading starts it again', async () => {
    const { stream, socket, engine } = connect();
    const chunk = frame(stdout, Buffer.alloc(64 * 1024, 'x'));
    let written = 0;
    const push = async (): Promise<void> => {
      while (written < 200) {
        written++;
        if (!engine.write(chunk)) await once(engine, 'drain');
      }
      engine.end();
    };
    const pushing = push();
    while (!socket.isPaused()) await turn();
    await turn();
    const held = written;
    expect(held).toBeLessThan(100);
    expect((await buffer(stream)).length).toBe(200 * 64 * 1024);
    await pushing;
  });

  test('what is written goes to the socket as it is, and its end too', async () => {
    const { stream, sent } = connect();
    stream.write('one');
    stream.end('two');
    expect((await buffer(sent)).toString()).toBe('onetwo');
  });

  test('a socket that takes nothing holds the writer back', async () => {
    const stuck = new Duplex({ read: () => undefined, write: () => undefined });
    const stream = new ExecStream(stuck);
    stream.on('error', () => undefined);
    let accepted = 0;
    while (stream.write(Buffer.alloc(64 * 1024))) accepted++;
    expect(accepted).toBeLessThan(64);
    stream.destroy();
  });

  test('the other side may end first; what it sent before is still read, however late', async () => {
    const { stream, socket, engine } = connect();
    engine.end(frame(stdout, 'last words'));
    await once(socket, 'end');
    socket.destroy();
    await once(socket, 'close');
    await turn();
    expect((await buffer(stream)).toString()).toBe('last words');
    if (!stream.closed) await once(stream, 'close');
  });

  test('an error of the socket is the error of the stream', async () => {
    const { stream, socket } = connect();
    const reset = new Error('connection reset');
    const failed = once(stream, 'error');
    socket.destroy(reset);
    expect(await failed).toEqual([reset]);
  });

  test('a socket that closes without an end is an error, not an end', async () => {
    const { stream, socket, engine } = connect();
    engine.write(frame(stdout, 'half'));
    const read = buffer(stream);
    await turn();
    socket.destroy();
    await expect(read).rejects.toThrow();
  });

  test('destroying it destroys the socket', async () => {
    const { stream, socket } = connect();
    stream.destroy();
    await once(stream, 'close');
    expect(socket.destroyed).toBe(true);
  });
});
