import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScenarioServer } from '../scenarios/support.ts';
import { TerminalClient } from './support/client.ts';

let server: ScenarioServer;
let id: string;
beforeAll(async () => {
  server = await ScenarioServer.start();
  id = await server.create({ network: 'isolated' });
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (query = {}): Promise<TerminalClient> => TerminalClient.open(server, id, query);

test('a shell at a terminal of its own: its name, its size, its type', async () => {
  const terminal = await open({ cols: 101, rows: 33 });
  terminal.type('tty; stty size; echo "type $TERM"; exit 7\n');
  expect(await terminal.notice('exit')).toEqual({ type: 'exit', exit_code: 7, signal: null });
  expect(await terminal.closed).toBe(1000);
  expect(terminal.shown).toMatch(/\r?\/dev\/pts\/\d+\r\n33 101\r\ntype xterm-256color\r\n/);
  expect(terminal.notices[0]).toEqual({
    type: 'ready',
    process_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    pid: expect.any(Number) as number,
    offset: 0,
  });
});

test('a new size reaches the program', async () => {
  const command = 'trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.05; done';
  const terminal = await open({ command });
  await terminal.shows('ready\r\n');
  terminal.say({ type: 'resize', cols: 40, rows: 12 });
  expect(await terminal.notice('exit')).toMatchObject({ exit_code: 0 });
  expect(terminal.shown).toBe('ready\r\n12 40\r\n');
});

// It says by itself that it is there: a shell that is interrupted while it starts a command may lose the signal.
const inForeground = `sh -c 'echo be"gun"; exec sleep 1000'\n`;

test('Ctrl-C interrupts what runs in the foreground, and the shell goes on', async () => {
  const terminal = await open();
  terminal.type(inForeground);
  await terminal.shows('begun\r\n');
  terminal.type('\x03');
  terminal.type('echo after=$?; exit\n');
  await terminal.shows('after=130\r\n');
  expect(await terminal.closed).toBe(1000);
});

test('Ctrl-C also reaches a program behind lines that were typed and not read', async () => {
  const terminal = await open();
  terminal.type(inForeground);
  await terminal.shows('begun\r\n');
  terminal.type('typed a"head"\nand more');
  await terminal.shows('typed a"head"\r\n');
  terminal.type('\x03');
  terminal.type('echo after=$?; exit\n');
  await terminal.shows('after=130\r\n');
  expect(await terminal.closed).toBe(1000);
});

test('Ctrl-D at the beginning of a line ends the shell', async () => {
  const terminal = await open();
  terminal.type('(exit 6)\n\x04');
  expect(await terminal.notice('exit')).toMatchObject({ exit_code: 6 });
});

test('a signal ends it, and says so', async () => {
  const terminal = await open({ command: 'echo ready; exec sleep 1000' });
  await terminal.shows('ready');
  terminal.say({ type: 'signal', name: 'SIGTERM' });
  expect(await terminal.notice('exit')).toEqual({
    type: 'exit',
    exit_code: 143,
    signal: 'SIGTERM',
  });
});

test('who comes back gets exactly what was missed', async () => {
  const first = await open({ command: 'stty -echo; echo one; read x; echo two; read x; exit 4' });
  await first.shows('one\r\n');
  const { processId, bytes } = first;
  await first.leave();

  const second = await open({ process_id: processId, offset: bytes });
  expect(second.notices[0]).toMatchObject({ process_id: processId, offset: bytes });
  second.type('\n');
  await second.shows('two\r\n');
  expect(second.shown).toBe('two\r\n');
  await second.leave();

  const third = await open({ process_id: processId });
  third.type('\n');
  await third.notice('exit');
  expect(third.shown).toBe('one\r\ntwo\r\n');

  // Also when it has ended.
  const last = await open({ process_id: processId, offset: 5 });
  expect(await last.notice('exit')).toMatchObject({ exit_code: 4 });
  expect(last.shown).toBe('two\r\n');
});

test('two at one terminal see the same, and both may type', async () => {
  const one = await open({ command: 'stty -echo; echo ready; read a; echo $a; read b; echo $b' });
  await one.shows('ready\r\n');
  const two = await open({ process_id: one.processId });
  one.type('first\n');
  await two.shows('first\r\n');
  two.type('second\n');
  await Promise.all([one.notice('exit'), two.notice('exit')]);
  expect(one.shown).toBe('ready\r\nfirst\r\nsecond\r\n');
  expect(two.shown).toBe(one.shown);
});

test('is listed among the processes, and leaves an event for each attachment', async () => {
  const terminal = await open({ command: 'echo ready; read x; exit 3' });
  await terminal.shows('ready');
  const { processId } = terminal;
  const { body } = await server.call('GET', `/${id}/processes/${processId}`);
  expect(body).toMatchObject({ status: 'running', detached: true });
  terminal.type('\n');
  await terminal.closed;
  for await (const { type, detail } of server.events(0)) {
    if (type !== 'tool.terminal' || detail['process_id'] !== processId) continue;
    expect(detail).toMatchObject({ result: 'ok', exit_code: 3 });
    expect(detail['duration_ms']).toEqual(expect.any(Number));
    break;
  }
});

test('many bytes arrive whole, and in order, in both directions', async () => {
  const terminal = await open({ command: 'stty raw -echo; echo ready; head -c 300000 | sha1sum' });
  await terminal.shows('ready');
  for (let sent = 0; sent < 300_000; sent += 30_000) terminal.type('x'.repeat(30_000));
  await terminal.notice('exit');
  expect(terminal.shown).toContain('9fcc3bd0c4872c1739fcb8c7a47da338fa7b8109');
});

test('every byte there is arrives as it was sent, in both directions', async () => {
  const terminal = await open({ command: 'stty raw -echo; echo ready; head -c 256' });
  await terminal.shows('ready\n');
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  terminal.socket.send(bytes);
  await terminal.notice('exit');
  expect(terminal.shownBytes.subarray('ready\n'.length)).toEqual(bytes);
});

test('the one who came last decides the size', async () => {
  const one = await open({ command: 'stty -echo; echo ready; read x; stty size' });
  await one.shows('ready\r\n');
  const two = await open({ process_id: one.processId, cols: 55, rows: 22 });
  two.type('\n');
  await one.notice('exit');
  expect(one.shown).toBe('ready\r\n22 55\r\n');
});

test('a terminal that nobody is attached to goes on until it ends, or its workspace stops', async () => {
  const own = await server.create({ network: 'isolated' });
  const enter = (query: object): Promise<TerminalClient> =>
    TerminalClient.open(server, own, { ...query });
  const ending = await enter({
    command: 'echo ready; while [ ! -e go ]; do sleep 0.05; done; exit 6',
  });
  const staying = await enter({});
  for (const terminal of [ending, staying]) {
    terminal.socket.terminate();
    await terminal.closed;
  }
  await server.bash(own, 'touch go');
  const back = await enter({ process_id: ending.processId });
  expect(await back.notice('exit')).toMatchObject({ exit_code: 6 });
  const { body } = await server.call('GET', `/${own}/processes/${staying.processId}`);
  expect(body.status).toBe('running');
  await server.call('POST', `/${own}/stop`, {});
  await server.call('POST', `/${own}/resume`, {});
  const left = await server.bash(own, 'pgrep -c bash');
  expect(left.body.stdout).toBe('0\n');
});
