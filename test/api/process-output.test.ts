import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { bytesOf, eventsOf, framesOf, outputOf } from './support/sse.ts';
import type { ServerEvent } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';
const sse = { accept: 'text/event-stream' };
const waiting = (name: string): string => `until [ -e ${name} ]; do sleep 0.02; done`;

let store: TestStore;
let server: TestServer;
let one: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  one = `${workspaces}/${await server.newWorkspace()}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** The path of a new process's output. */
async function start(command: string): Promise<string> {
  const json = { command };
  const { id } = await server.admin.json<{ id: string }>(201, 'POST', `${one}/processes`, { json });
  return `${one}/processes/${id}/output`;
}

async function touch(name: string): Promise<void> {
  await server.admin.json(200, 'PUT', `${one}/files?path=${name}`, { body: '' });
}

async function read(path: string, headers: Record<string, string> = {}): Promise<ServerEvent[]> {
  const response = await server.admin.fetch('GET', path, { headers: { ...sse, ...headers } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  return Array.fromAsync(eventsOf(response));
}

/** Until it has ended, what it wrote as plain bytes. */
async function whole(path: string): Promise<Buffer> {
  const response = await server.admin.fetch('GET', `${path}?follow=true`);
  return Buffer.from(await response.arrayBuffer());
}

describe('server-sent events', () => {
  test('replay everything and end with the exit, as often as one likes', async () => {
    const path = await start('echo one; echo two >&2; printf "\\xff"; exit 4');
    await whole(path);
    for (let i = 0; i < 2; i++) {
      const events = await read(path);
      expect(outputOf(events, 'stderr').toString()).toBe('two\n');
      expect(outputOf(events, 'stdout')).toEqual(Buffer.from('one\n\xff', 'latin1'));
      expect(events.at(-1)).toEqual({ event: 'exit', data: { exit_code: 4, signal: null } });
      for (const { id, data } of events.slice(0, -1)) expect(id).toBe(data['offset']);
      expect(events.at(-2)?.id).toBe(9);
    }
  });

  test('follow what comes, from where Last-Event-ID or the query says', async () => {
    const path = await start(`printf abcdef; ${waiting('go')}; printf ghi; exit 0`);
    const response = await server.admin.fetch('GET', `${path}?offset=2`, { headers: sse });
    const events = eventsOf(response);
    expect((await events.next()).value).toEqual({
      event: 'stdout',
      id: 6,
      data: { text: 'cdef', offset: 6 },
    });
    await touch('go');
    expect((await events.next()).value).toMatchObject({ data: { text: 'ghi' }, id: 9 });
    expect((await events.next()).value).toMatchObject({ event: 'exit' });
    expect(await events.next()).toMatchObject({ done: true });
    // A browser repeats the address that it was given, and adds how far it came.
    const resumed = await read(`${path}?offset=2`, { 'last-event-id': '7' });
    expect(outputOf(resumed, 'stdout').toString()).toBe('hi');
  });

  test('without following end with what is there, without an exit', async () => {
    const path = await start('echo there; sleep 1000');
    await eventually(async () => {
      const events = await read(`${path}?follow=false`);
      expect(events).toEqual([{ event: 'stdout', id: 6, data: { text: 'there\n', offset: 6 } }]);
    });
  });

  test('a place in the middle of a character is never the id of an event before it is sent', async () => {
    // The euro sign in two writes, something on the other output between them.
    const command = String.raw`printf 'a\xe2\x82'; ${waiting('other')}; printf x >&2; ${waiting('rest')}; printf '\xac'`;
    const path = await start(command);
    const response = await server.admin.fetch('GET', path, { headers: sse });
    const events = eventsOf(response);
    expect((await events.next()).value).toMatchObject({ id: 1, data: { text: 'a' } });
    await touch('other');
    const held = Buffer.from([0xe2, 0x82]).toString('base64');
    expect((await events.next()).value).toMatchObject({ id: 3, data: { base64: held } });
    expect((await events.next()).value).toMatchObject({ event: 'stderr', id: 4 });
    await events.return(undefined);
    await touch('rest');
    const rest = await read(path, { 'last-event-id': '4' });
    expect(outputOf(rest, 'stdout')).toEqual(Buffer.from([0xac]));
  });

  test('a reader that leaves does not end the process, and another reads on', async () => {
    const path = await start(`echo first; ${waiting('second')}; echo second`);
    const away = new AbortController();
    const response = await server.admin.fetch('GET', path, { headers: sse, signal: away.signal });
    const events = eventsOf(response);
    expect((await events.next()).value).toMatchObject({ data: { text: 'first\n' } });
    away.abort();
    await touch('second');
    expect(outputOf(await read(path), 'stdout').toString()).toBe('first\nsecond\n');
  });

  test('a quiet process shows signs of life', async () => {
    const clock = new FakeClock();
    await using quiet = await startServer(store, { clock });
    const path = await start('sleep 1000');
    const response = await quiet.admin.fetch('GET', path, { headers: sse });
    const events = framesOf(response);
    await clock.whenSleeping();
    await clock.advance(15_000);
    expect((await events.next()).value).toMatchObject({ event: 'comment' });
    await events.return(undefined);
  });

  test('output that is no longer kept is told as skipped', async () => {
    const path = await start('head -c 80000000 /dev/zero; echo end');
    await eventually(async () => {
      const info = await server.admin.json(200, 'GET', path.replace('/output', ''));
      expect(info).toMatchObject({ status: 'exited' });
    });
    const response = await server.admin.fetch('GET', path, { headers: sse });
    const events = eventsOf(response);
    const { value: first } = await events.next();
    expect(first?.event).toBe('skipped');
    expect(first?.data['bytes']).toBe(first?.data['offset']);
    expect(first?.id).toBeGreaterThan(0);
    await events.return(undefined);
    const raw = await server.admin.fetch('GET', path);
    const offset = Number(raw.headers.get('x-output-offset'));
    expect(offset).toBe(first?.id);
    let size = 0;
    for await (const chunk of bytesOf(raw)) size += chunk.length;
    expect(offset + size).toBe(80_000_004);
  }, 60_000);
});

describe('plain bytes', () => {
  test('are both outputs as they came, now or until the end', async () => {
    const path = await start(`echo out; ${waiting('err')}; echo err >&2; printf '\\xff\\x00'`);
    const now = await eventually(async () => {
      const answer = await server.admin.call('GET', path);
      expect(answer.text).toBe('out\n');
      return answer;
    });
    expect(now.headers.get('content-type')).toBe('application/octet-stream');
    expect(now.headers.get('x-output-offset')).toBe('0');
    const all = whole(path);
    await touch('err');
    expect(await all).toEqual(Buffer.from('out\nerr\n\xff\0', 'latin1'));
    const rest = await server.admin.call('GET', `${path}?offset=4`);
    expect(rest.headers.get('x-output-offset')).toBe('4');
    expect(rest.text.startsWith('err\n')).toBe(true);
  });
});
