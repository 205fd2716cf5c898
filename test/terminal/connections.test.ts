import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ScenarioServer } from '../scenarios/support.ts';
import { freePort } from '../support/free-port.ts';
import { liveBytes } from '../support/live-bytes.ts';
import {
  TerminalClient,
  refusedHandshake,
  refusedUpgrade,
  screen,
  terminalUrl,
} from './support/client.ts';

let server: ScenarioServer;
let id: string;
beforeAll(async () => {
  server = await ScenarioServer.start({ EMERGENT_PORT: String(await freePort()) });
  id = await server.create({ network: 'isolated' });
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (query = {}): Promise<TerminalClient> => TerminalClient.open(server, id, query);

/** A command that counts what is typed, line by line, and ends with the number. */
const counting =
  'stty -echo; echo ready; n=0; while read x && [ "$x" ]; do n=$((n+1)); echo $n; done; exit $n';

test('a refused upgrade is answered as any other refused request', async () => {
  const authorization = `Bearer ${server.token}`;
  const started = await server.call('POST', `/${id}/processes`, { command: 'sleep 1000' });
  const refused = async (
    path: string,
    query: Readonly<Record<string, string | number>>,
    headers: Readonly<Record<string, string>> = { authorization },
  ): Promise<string> => {
    const url = terminalUrl(server, path, query);
    const { status, code, headers: told } = await refusedUpgrade(url, headers);
    expect(told['x-request-id']).toBeDefined();
    return `${String(status)} ${code}`;
  };
  expect(await refused(id, screen, {})).toBe('401 unauthenticated');
  expect(await refused(id, screen, { authorization: 'Bearer wrong' })).toBe('401 unauthenticated');
  expect(await refused(id, { ...screen, token: server.token }, {})).toBe('401 unauthenticated');
  expect(await refused('no-uuid', screen)).toBe('400 bad_id');
  expect(await refused(randomUUID(), screen)).toBe('404 workspace_not_found');
  const nobody = { ...screen, process_id: randomUUID() };
  expect(await refused(id, nobody)).toBe('404 process_not_found');
  const plain = { ...screen, process_id: started.body.id };
  expect(await refused(id, plain)).toBe('409 wrong_state');
  expect(await refused(id, { cols: 80 })).toBe('422 invalid_value');
  expect(await refused(id, { cols: 0, rows: 24 })).toBe('422 invalid_value');
  expect(await refused(id, { ...screen, size: 3 })).toBe('422 unknown_field');
  expect(await refused(id, { ...plain, command: 'true' })).toBe('422 invalid_value');
  expect(await refused(id, { ...screen, offset: 3 })).toBe('422 invalid_value');

  const stopped = await server.create({ network: 'isolated' });
  await server.call('POST', `/${stopped}/stop`, {});
  expect(await refused(stopped, screen)).toBe('409 wrong_state');
  const url = terminalUrl(server, id, screen);
  for (const wrong of [{ 'sec-websocket-version': '12' }, { 'sec-websocket-key': 'short' }]) {
    const { status, code } = await refusedHandshake(url, { authorization, ...wrong });
    expect(`${String(status)} ${code}`).toBe('400 malformed_request');
  }
  const plainGet = await server.call('GET', `/${id}/terminal?cols=80&rows=24`);
  expect(plainGet).toMatchObject({ status: 400, body: { error: { code: 'malformed_request' } } });
});

test('a browser names its token as a protocol, which is not the one that is chosen', async () => {
  const socket = new WebSocket(terminalUrl(server, id, { ...screen, command: 'true' }), [
    'emergent.terminal',
    `bearer.${server.token}`,
  ]);
  await once(socket, 'open');
  expect(socket.protocol).toBe('emergent.terminal');
  await once(socket, 'close');
  const { status } = await refusedUpgrade(terminalUrl(server, id, screen), {}, [
    'emergent.terminal',
    'bearer.wrong',
  ]);
  expect(status).toBe(401);
});

test('a server that stops closes at once, and the terminal is there when another has come', async () => {
  const before = await open({ command: counting });
  await before.shows('ready\r\n');
  before.type('x\n');
  await before.shows('1\r\n');
  const { processId, bytes } = before;
  const restarted = server.restart();
  expect(await before.closed).toBe(1012);
  await restarted;

  const after = await open({ process_id: processId, offset: bytes });
  after.type('x\n');
  await after.shows('2\r\n');
  expect(after.shown).toBe('2\r\n');
  after.type('\n');
  expect(await after.notice('exit')).toMatchObject({ exit_code: 2 });
});

test('a connection that drops leaves the terminal running', async () => {
  const dropped = await open({ command: counting });
  await dropped.shows('ready\r\n');
  dropped.socket.terminate();
  await dropped.closed;
  const { processId } = dropped;
  const back = await open({ process_id: processId, offset: dropped.bytes });
  back.type('x\n\n');
  expect(await back.notice('exit')).toMatchObject({ exit_code: 1 });
  for await (const { type, detail } of server.events(0)) {
    if (type !== 'tool.terminal' || detail['process_id'] !== processId) continue;
    expect(detail).toMatchObject({ result: 'client_closed' });
    break;
  }
});

test('messages that mean nothing are refused with a reason', async () => {
  const messages = ['not json', '{"type":"resize","cols":0,"rows":1}', '{"type":"dance"}'];
  for (const message of messages) {
    const terminal = await open({ command: 'sleep 1000' });
    terminal.socket.send(message);
    expect(await terminal.notice('error')).toMatchObject({ error: { code: 'invalid_value' } });
    expect(await terminal.closed).toBe(1008);
  }
  const terminal = await open({ command: 'sleep 1000' });
  terminal.socket.send(Buffer.alloc(64 * 1024 + 1));
  expect(await terminal.closed).toBe(1009);
});

test('who does not read costs no memory and holds nothing up, and is told what was missed', async () => {
  // More than is kept of a command's output and is under way to its readers.
  const size = 120_000_000;
  const terminal = await open({
    command: `stty raw -echo; echo ready; read x; head -c ${String(size)} /dev/zero; echo end`,
  });
  await terminal.shows('ready');
  const others = await Promise.all(
    [1, 2].map(() => open({ process_id: terminal.processId, offset: terminal.bytes })),
  );
  const before = liveBytes();
  for (const { socket } of [terminal, ...others]) socket.pause();
  terminal.type('\n');
  await vi.waitFor(
    async () => {
      const { body } = await server.call('GET', `/${id}/processes/${terminal.processId}`);
      expect(body.status).toBe('exited');
    },
    { timeout: 150_000, interval: 200 },
  );
  // The server runs in this very process. Of each it holds what one stream of the link to the sandbox may hold.
  expect(liveBytes() - before).toBeLessThan(3 * 16 * 2 ** 20);
  const meanwhile = await server.bash(id, 'echo free');
  expect(meanwhile.body.stdout).toBe('free\n');
  for (const { socket } of others) socket.terminate();

  terminal.socket.resume();
  expect(await terminal.notice('exit')).toMatchObject({ exit_code: 0 });
  const missed = terminal.notices
    .filter(({ type }) => type === 'skipped')
    .reduce((sum, { bytes }) => sum + Number(bytes), 0);
  expect(missed).toBeGreaterThan(0);
  expect(terminal.bytes + missed).toBe(size + 'ready\nend\n'.length);
  expect(terminal.shown.endsWith('end\n')).toBe(true);
}, 180_000);

test('destroying the workspace ends its terminals with it', async () => {
  const doomed = await server.create({ network: 'isolated' });
  const terminal = await TerminalClient.open(server, doomed);
  terminal.type('echo at"-"work\n');
  await terminal.shows('at-work\r\n');
  await server.call('DELETE', `/${doomed}`);
  const code = await terminal.closed;
  expect([1000, 1011]).toContain(code);
});
