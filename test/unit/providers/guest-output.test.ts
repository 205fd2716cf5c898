import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import type { ServiceImpl } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { Process } from '../../../src/providers/guest/gen/process/process_pb.ts';
import type { ProcessSelector } from '../../../src/providers/guest/gen/process/process_pb.ts';
import { OpenReaders } from '../../../src/providers/guest/open-readers.ts';
import { startProcess } from '../../../src/providers/guest/process.ts';
import { GuestProcesses } from '../../../src/providers/guest/processes.ts';

const start = { event: { event: { case: 'start', value: { pid: 5 } } } } as const;
const never = new AbortController().signal;

function skipped(bytes: bigint) {
  return { event: { event: { case: 'skipped', value: { bytes } } } } as const;
}

/** What an agent might do, and the pauses between the attempts to reach it. */
function agentThat(does: Partial<ServiceImpl<typeof Process>>) {
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => new Date(0),
    monotonic: () => 0,
    sleep: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const transport = createRouterTransport(({ service }) => {
    service(Process, does);
  });
  const client = createClient(Process, transport);
  return { pauses, options: { client, clock, readers: new OpenReaders() } };
}

test('a command with an id is named by it, and by its pid without one', async () => {
  const named: (ProcessSelector | undefined)[] = [];
  const { options } = agentThat({
    async *start() {
      yield start;
    },
    sendSignal: ({ process }) => {
      named.push(process);
      return {};
    },
    closeStdin: ({ process }) => {
      named.push(process);
      return {};
    },
  });
  for (const id of ['an-id', undefined]) {
    const request = { argv: ['cat'] as const, ...(id !== undefined && { id }) };
    const process = await startProcess(options, request, never);
    await process.kill('SIGTERM');
    await process.closeStdin();
  }
  expect(named.map((one) => one?.selector)).toEqual([
    { case: 'tag', value: 'an-id' },
    { case: 'tag', value: 'an-id' },
    { case: 'pid', value: 5 },
    { case: 'pid', value: 5 },
  ]);
});

test('an agent that breaks off again and again is given up', async () => {
  const { pauses, options } = agentThat({
    async *connect() {
      yield start;
      throw new ConnectError('gone', Code.Unavailable);
    },
  });
  const processes = new GuestProcesses(options);
  const events = await processes.attach('id', { offset: 0, follow: true }, never);
  await expect(Array.fromAsync(events)).rejects.toMatchObject({ code: 'sandbox_unreachable' });
  expect(pauses).toEqual([0, 200, 500, 1_000, 2_000, 4_000]);
});

test('an agent that brings something each time is not', async () => {
  let streams = 0;
  const { pauses, options } = agentThat({
    async *connect({ offset }) {
      yield start;
      yield skipped(10n);
      if (++streams < 20) throw new ConnectError('gone', Code.Unavailable);
      yield { event: { event: { case: 'end', value: { exited: true } } } };
      expect(offset).toBe(190n);
    },
  });
  const processes = new GuestProcesses(options);
  const events = await processes.attach('id', { offset: 0, follow: true }, never);
  expect((await Array.fromAsync(events)).slice(-2)).toEqual([
    { type: 'skipped', bytes: 10, offset: 200 },
    { type: 'exit', exitCode: 0, signal: null },
  ]);
  expect(pauses).toEqual(Array.from({ length: 19 }, () => 0));
});

test('a count of output that cannot be is refused', async () => {
  const { options } = agentThat({
    async *connect() {
      yield start;
      yield skipped(2n ** 63n);
    },
  });
  const processes = new GuestProcesses(options);
  const events = await processes.attach('id', { offset: 0, follow: true }, never);
  await expect(Array.fromAsync(events)).rejects.toMatchObject({ code: 'provider_failed' });
});
