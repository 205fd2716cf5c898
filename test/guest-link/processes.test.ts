import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ExecRequest, OutputEvent, ProcessInfo } from '../../src/domain/exec.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { collect, soon } from '../conformance/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { TestAgent } from './support/agent.ts';

let agent: TestAgent;
let sandboxes: GuestSandbox[];
beforeEach(async () => {
  agent = await TestAgent.start();
  sandboxes = [];
});
afterEach(async () => {
  for (const sandbox of sandboxes) sandbox.close();
  await agent[Symbol.asyncDispose]();
});

/** Each is as a server that was started anew: it knows nothing of what others did. */
function newSandbox(): GuestSandbox {
  const sandbox = new GuestSandbox({ dial: agent.dial, token: agent.token, clock: systemClock });
  sandboxes.push(sandbox);
  return sandbox;
}

function shell(script: string, ...parameters: string[]): ExecRequest & { readonly id: string } {
  return { id: randomUUID(), argv: ['sh', '-c', script, 'sh', ...parameters] };
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const whole = { offset: 0, follow: true } as const;

/** Reads to the end and holds the events to the contract: offsets count every byte, and nothing follows the exit. */
async function read(events: AsyncIterable<OutputEvent>, from = 0) {
  const seen = { stdout: '', stderr: '', skipped: 0, exit: null as OutputEvent | null };
  const hash = createHash('sha256');
  let offset = from;
  for await (const event of events) {
    expect(seen.exit).toBeNull();
    if (event.type === 'exit') {
      seen.exit = event;
      continue;
    }
    offset += event.type === 'skipped' ? event.bytes : event.data.length;
    expect(event.offset).toBe(offset);
    if (event.type === 'skipped') {
      seen.skipped += event.bytes;
      continue;
    }
    hash.update(event.data);
    seen[event.type] += Buffer.from(event.data).toString('latin1');
  }
  return { ...seen, bytes: offset - from, sha256: hash.digest('hex') };
}

function only(list: readonly ProcessInfo[]): ProcessInfo {
  const [first] = list;
  if (!first || list.length > 1) throw new Error(`${String(list.length)} processes`);
  return first;
}

async function ended(sandbox: GuestSandbox, id: string): Promise<void> {
  await read(await sandbox.processes.attach(id, whole, soon()));
}

describe('a detached process', () => {
  test('outlives the link and the server; all of its output and its exit are read from the start', async () => {
    const copy = join(agent.workdir, 'copy');
    const request = shell('head -c 5000000 /dev/urandom | tee "$1"; exit 3', copy);
    const first = newSandbox();
    const started = await first.processes.start(request, soon());
    expect(started).toMatchObject({ id: request.id, detached: true, endedAt: null, exit: null });
    agent.bridge.kill();
    await agent.bridge.closed;
    first.close();

    const second = newSandbox();
    const output = await read(await second.processes.attach(request.id, whole, soon()));
    expect(output.exit).toEqual({ type: 'exit', exitCode: 3, signal: null });
    expect([output.bytes, output.skipped]).toEqual([5_000_000, 0]);
    const expected = createHash('sha256').update(await readFile(copy));
    expect(output.sha256).toBe(expected.digest('hex'));

    const info = only(await second.processes.list(soon()));
    expect(info).toEqual({
      ...started,
      endedAt: expect.any(Date) as unknown,
      exit: { exitCode: 3, signal: null },
      outputBytes: 5_000_000,
    });
    expect(info.endedAt?.getTime()).toBeGreaterThanOrEqual(info.startedAt.getTime());
  });

  test('its output goes on at the same place when the link breaks while it is read', async () => {
    const sandbox = newSandbox();
    const copy = join(agent.workdir, 'copy');
    const request = shell('head -c 20000000 /dev/urandom | tee "$1"', copy);
    await sandbox.processes.start(request, soon());
    const events = await sandbox.processes.attach(request.id, whole, soon());
    const breaking = (async function* () {
      let left = 3;
      for await (const event of events) {
        if (left-- > 0) agent.bridge.kill();
        yield event;
      }
    })();
    const output = await read(breaking);
    expect([output.bytes, output.skipped]).toEqual([20_000_000, 0]);
    const expected = createHash('sha256').update(await readFile(copy));
    expect(output.sha256).toBe(expected.digest('hex'));
    expect(agent.bridges.length).toBeGreaterThan(1);
  });

  test('is read up to now, and from any place', async () => {
    const sandbox = newSandbox();
    const request = shell('printf one; printf two >&2; cat >&2; exit 4');
    await sandbox.processes.start({ ...request, stdin: true }, soon());
    await eventually(async () => {
      expect(only(await sandbox.processes.list(soon())).outputBytes).toBe(6);
    });
    const now = { offset: 1, follow: false };
    const part = await read(await sandbox.processes.attach(request.id, now, soon()), 1);
    // Which of the two outputs came first is for the kernel to say.
    expect([part.bytes, part.exit]).toEqual([5, null]);
    const end = { offset: 6, follow: false };
    expect(await read(await sandbox.processes.attach(request.id, end, soon()), 6)).toMatchObject({
      bytes: 0,
      exit: null,
    });
    await sandbox.processes.signal(request.id, 'SIGKILL', soon());
    await ended(sandbox, request.id);
    const last = await read(await sandbox.processes.attach(request.id, now, soon()), 1);
    expect(last.exit).toEqual({ type: 'exit', exitCode: 137, signal: 'SIGKILL' });
  });

  test('gets signals by its id, until its group is empty', async () => {
    const sandbox = newSandbox();
    const request = shell('trap "echo hup" HUP; echo ready; while :; do sleep 0.01; done');
    await sandbox.processes.start(request, soon());
    const events = (await sandbox.processes.attach(request.id, whole, soon()))[
      Symbol.asyncIterator
    ]();
    // The shell has its own words about a signal, on stderr.
    const next = async (): Promise<OutputEvent> => {
      for (;;) {
        const event = await events.next();
        if (event.done === true) throw new Error('no more events');
        if (event.value.type !== 'stderr') return event.value;
      }
    };
    expect(await next()).toMatchObject({ data: bytes('ready\n') });
    await sandbox.processes.signal(request.id, 'SIGHUP', soon());
    expect(await next()).toMatchObject({ data: bytes('hup\n') });
    await sandbox.processes.signal(request.id, 'SIGTERM', soon());
    expect(await next()).toMatchObject({ type: 'exit', exitCode: 143, signal: 'SIGTERM' });
    const gone = { code: 'process_not_found' };
    await eventually(async () => {
      await expect(sandbox.processes.signal(request.id, 'SIGTERM', soon())).rejects.toMatchObject(
        gone,
      );
    });
  });

  test('reading ends with its signal; the process does not', async () => {
    const sandbox = newSandbox();
    const request = shell('echo ready; exec sleep 1000');
    await sandbox.processes.start(request, soon());
    const caller = new AbortController();
    const events = (await sandbox.processes.attach(request.id, whole, caller.signal))[
      Symbol.asyncIterator
    ]();
    await events.next();
    const next = events.next();
    caller.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(only(await sandbox.processes.list(soon())).endedAt).toBeNull();
  });
});

describe('ids', () => {
  test('of nobody are not found, whatever is asked', async () => {
    const sandbox = newSandbox();
    const gone = { code: 'process_not_found' };
    const id = randomUUID();
    await expect(sandbox.processes.attach(id, whole, soon())).rejects.toMatchObject(gone);
    await expect(sandbox.processes.signal(id, 'SIGTERM', soon())).rejects.toMatchObject(gone);
    expect(await sandbox.processes.list(soon())).toEqual([]);
  });

  test('are used once, and a refused start harms nobody', async () => {
    const sandbox = newSandbox();
    const request = shell('exec sleep 1000');
    await sandbox.processes.start(request, soon());
    const refused = { code: 'invalid_value' };
    await expect(sandbox.processes.start(request, soon())).rejects.toMatchObject(refused);
    await expect(sandbox.exec(request, soon())).rejects.toMatchObject(refused);
    expect(only(await sandbox.processes.list(soon())).endedAt).toBeNull();
  });

  test('of attached commands are listed too, and name them for signals and input', async () => {
    const sandbox = newSandbox();
    const id = randomUUID();
    const process = await sandbox.exec({ id, argv: ['cat'], stdin: true }, soon());
    await sandbox.exec({ argv: ['true'] }, soon());
    const info = only(await newSandbox().processes.list(soon()));
    expect(info).toMatchObject({ id, pid: process.pid, argv: ['cat'], detached: false });
    await process.writeStdin(Buffer.from('hello'));
    await process.kill('SIGTERM');
    expect(await collect(process.events)).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
    const again = await read(await newSandbox().processes.attach(id, whole, soon()));
    expect(again.exit).toMatchObject({ exitCode: 143 });
  });

  test('are listed oldest first', async () => {
    const sandbox = newSandbox();
    const requests = [1, 2, 3].map(() => shell('exit 0'));
    for (const request of requests) {
      await sandbox.processes.start(request, soon());
      await ended(sandbox, request.id);
    }
    const ids = (await sandbox.processes.list(soon())).map(({ id }) => id);
    expect(ids).toEqual(requests.map(({ id }) => id));
  });
});

test('an attached command whose server is gone is read whole by the next one', async () => {
  const first = newSandbox();
  const copy = join(agent.workdir, 'copy');
  const request = shell('head -c 5000000 /dev/urandom | tee "$1"; exit 6', copy);
  await first.exec(request, soon());
  agent.bridge.kill();
  await agent.bridge.closed;
  first.close();
  const output = await read(await newSandbox().processes.attach(request.id, whole, soon()));
  const expected = createHash('sha256').update(await readFile(copy));
  expect([output.bytes, output.sha256]).toEqual([5_000_000, expected.digest('hex')]);
  expect(output.exit).toMatchObject({ exitCode: 6 });
});
