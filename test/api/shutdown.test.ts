import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Client } from './support/client.ts';
import { RawConnection } from './support/raw-http.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store[Symbol.asyncDispose]());

/** A command that waits until it is told to go on, streamed over a connection of its own. */
async function streamWaiting(server: TestServer): Promise<RawConnection> {
  const id = await server.newWorkspace();
  const command = 'sleep 1000 & trap "echo ended well; exit" USR1; echo waiting; wait';
  const json = JSON.stringify({ command });
  const connection = await RawConnection.open(server.port);
  connection.send(
    `POST ${workspaces}/${id}/bash HTTP/1.1`,
    ...['Host: test', `Authorization: Bearer ${server.admin.token ?? ''}`],
    ...['Accept: text/event-stream', 'Content-Type: application/json'],
    ...[`Content-Length: ${String(json.length)}`, '', json],
  );
  await connection.until((text) => text.includes('waiting'));
  return connection;
}

/** `close` is under way once nobody can connect any more. */
async function refusesConnections(client: Client): Promise<void> {
  await eventually(() => expect(client.fetch('GET', '/healthz')).rejects.toThrow('fetch failed'));
}

function goOn(connection: RawConnection): void {
  const pid = /"pid":(\d+)/.exec(connection.received)?.[1];
  process.kill(-Number(pid), 'SIGUSR1');
}

test('close lets answers in progress end, and refuses what comes after', async () => {
  await using server = await startServer(store);
  using connection = await streamWaiting(server);
  const closed = server.app.close();
  await refusesConnections(server.admin);

  connection.send('GET /healthz HTTP/1.1', 'Host: test', '', '');
  goOn(connection);
  const text = await connection.until((received) => received.includes('shutting_down'));
  expect(text).toMatch(/ended well[^]*event: result[^]*HTTP\/1.1 503 [^]*connection: close/i);
  await connection.closed;
  await closed;
});

test('close waits for no connection on which nothing was ever sent', async () => {
  await using server = await startServer(store);
  using reserve = await RawConnection.open(server.port);
  // The server has accepted it once a later one has been answered.
  expect((await server.admin.fetch('GET', '/healthz')).status).toBe(200);
  await server.app.close();
  await reserve.closed;
});

test('close waits for no connection without a request', async () => {
  await using server = await startServer(store);
  using idle = await RawConnection.open(server.port);
  idle.send('GET /healthz HTTP/1.1', 'Host: test', '', '');
  await idle.answer();
  using streaming = await streamWaiting(server);
  const closed = server.app.close();
  await idle.closed;
  goOn(streaming);
  await streaming.closed;
  expect(streaming.received).toContain('event: result');
  await closed;
});

test('an answer given while closing says that it is the last', async () => {
  await using server = await startServer(store);
  const id = await server.newWorkspace();
  const json = { command: 'trap "exit 0" USR1; sleep 1000 & wait' };
  const running = server.admin.call('POST', `${workspaces}/${id}/bash`, { json });
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(1);
  });
  const closed = server.app.close();
  await refusesConnections(server.admin);
  await server.engine.workspaces.destroy({ tokenId: id, role: 'admin' }, id);
  expect((await running).headers.get('connection')).toBe('close');
  await closed;
});

test('close ends those who follow at once: without an exit, and plain bytes visibly cut off', async () => {
  await using server = await startServer(store);
  const process = await startProcess(server, 'echo there; sleep 1000');
  const headers = { accept: 'text/event-stream' };
  const events = eventsOf(await server.admin.fetch('GET', '/api/v1/events', { headers }));
  const output = eventsOf(await server.admin.fetch('GET', `${process}/output`, { headers }));
  expect((await output.next()).value).toMatchObject({ event: 'stdout' });
  const plain = await server.admin.fetch('GET', `${process}/output?follow=true`);
  const bytes = plain.arrayBuffer();
  bytes.catch(() => undefined);

  await server.app.close();
  expect(await output.next()).toMatchObject({ done: true });
  expect((await Array.fromAsync(events)).map(({ event }) => event)).not.toContain('error');
  await expect(bytes).rejects.toThrow('terminated');
});

test('close does not wait for a follower that has stopped reading', async () => {
  await using server = await startServer(store);
  const process = await startProcess(server, 'head -c 40000000 /dev/zero; sleep 1000');
  using stuck = await RawConnection.open(server.port);
  stuck.socket.pause();
  stuck.send(
    `GET ${process}/output HTTP/1.1`,
    ...['Host: test', `Authorization: Bearer ${server.admin.token ?? ''}`],
    ...['Accept: text/event-stream', '', ''],
  );
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(1);
  });
  await eventually(async () => {
    expect(await server.admin.json(200, 'GET', process)).toMatchObject({
      output_bytes: 40_000_000,
    });
  });
  await server.app.close();
});

/** The path of a new process in a new workspace. */
async function startProcess(server: TestServer, command: string): Promise<string> {
  const processes = `${workspaces}/${await server.newWorkspace()}/processes`;
  const json = { command };
  const { id } = await server.admin.json<{ id: string }>(201, 'POST', processes, { json });
  return `${processes}/${id}`;
}
