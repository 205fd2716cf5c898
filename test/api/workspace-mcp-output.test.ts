import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OutputEvent, ProcessInfo } from '../../src/domain/exec.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { connectTo, useTool } from './support/mcp.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

let store: TestStore;
let server: TestServer;
let id: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const process_id = '9a3e9a3e-0000-4000-8000-000000000001';

/** A server on which one process has written exactly this. */
function writing(events: readonly OutputEvent[], facts: Partial<ProcessInfo>): Promise<TestServer> {
  const wrapEngine = (engine: Engine): Engine => ({
    ...engine,
    tokens: engine.tokens,
    workspaces: engine.workspaces,
    processes: {
      start: (...args) => engine.processes.start(...args),
      list: (...args) => engine.processes.list(...args),
      signal: (...args) => engine.processes.signal(...args),
      async get() {
        const argv = ['true'];
        const startedAt = new Date(0);
        const rest = { endedAt: null, exit: null, outputBytes: 0, droppedBytes: 0 };
        return { id: process_id, pid: 1, argv, detached: true, startedAt, ...rest, ...facts };
      },
      async attach() {
        return (async function* all() {
          yield* events;
        })();
      },
    },
  });
  return startServer(store, { wrapEngine });
}

function text(written: string | Uint8Array, offset = 0): OutputEvent {
  return { type: 'stdout', data: Buffer.from(written), offset };
}

async function outputOf(
  events: readonly OutputEvent[],
  facts: Partial<ProcessInfo>,
): Promise<Readonly<Record<string, unknown>>> {
  await using told = await writing(events, facts);
  const path = `/agent/workspaces/${id}/mcp`;
  await using client = await connectTo('v2, 2026-07-28', told.admin, path);
  return (await useTool(client, 'process_output', { process_id, offset: 10 })).structured;
}

const ended = { endedAt: new Date(1), exit: { exitCode: 0, signal: null } };
const half = Buffer.of(0xc3);

test('holds back the beginning of a character while more may come', async () => {
  expect(await outputOf([text('tea'), text(half)], { outputBytes: 14 })).toMatchObject({
    output: 'tea',
    next_offset: 13,
    truncated: false,
  });
  const exit: OutputEvent = { type: 'exit', exitCode: 0, signal: null };
  expect(
    await outputOf([text('tea'), text(half), exit], { ...ended, outputBytes: 14 }),
  ).toMatchObject({ output: 'tea\ufffd', next_offset: 14, status: 'exited', exit_code: 0 });
});

test('says that more has come when the process ended meanwhile', async () => {
  expect(await outputOf([text('tea')], { ...ended, outputBytes: 20 })).toMatchObject({
    output: 'tea',
    next_offset: 13,
    truncated: true,
    status: 'exited',
  });
});

test('shows at most 50 KB at once, in whole characters', async () => {
  const much = 'é'.repeat(30 * 1024);
  const structured = await outputOf([text(`x${much}`)], { outputBytes: 10 + 60 * 1024 + 1 });
  const { output, next_offset: next } = structured as { output: string; next_offset: number };
  expect(structured).toMatchObject({ truncated: true });
  expect(Buffer.byteLength(output)).toBe(50 * 1024 - 1);
  expect(next).toBe(10 + 50 * 1024 - 1);
});

test('tells of output that is no longer kept', async () => {
  const skipped: OutputEvent = { type: 'skipped', bytes: 90, offset: 100 };
  expect(await outputOf([skipped, text('tea')], { outputBytes: 103 })).toMatchObject({
    output: 'tea',
    next_offset: 103,
    skipped_bytes: 90,
  });
});
