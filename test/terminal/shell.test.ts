import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../cli/support/cli.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { freePort } from '../support/free-port.ts';
import { AtTerminal } from './support/at-terminal.ts';

const run = promisify(execFile);

let server: ScenarioServer;
let id: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  server = await ScenarioServer.start({ EMERGENT_PORT: String(await freePort()) });
  id = await server.create({ network: 'isolated' });
  env = { EMERGENT_URL: server.url, EMERGENT_TOKEN: server.token };
});
afterAll(() => server[Symbol.asyncDispose]());

/** What `stty -a` says of a terminal that is as it was. */
const restored = / icanon [^]* echo /;

test('a shell on our own screen: its size, its keys, its exit code', async () => {
  const local = new AtTerminal(['shell', id], env);
  await local.shows('/workspace#');
  local.type('stty size\r');
  await local.shows('33 101');
  await run('stty', ['-F', local.tty, 'rows', '40', 'cols', '90']);
  // The new size comes beside what is typed.
  local.type('until [ "$(stty size)" = "40 90" ]; do sleep 0.1; done; echo re"sized"\r');
  await local.shows('resized');
  // It says by itself that it is there: a shell that is interrupted while it starts a command may lose the signal.
  local.type(`sh -c 'echo be"gun"; exec sleep 1000'\r`);
  await local.shows('begun');
  local.type('\x03');
  local.type('echo after=$?\r');
  await local.shows('after=130');
  local.type('exit 9\r');
  expect(await local.ended).toBe(9);
  expect(local.shown).toMatch(restored);
});

test.each([
  ['Ctrl-]', '\x1d'],
  ['~. at the beginning of a line', '\r~.'],
])('%s leaves it running, and says how to come back', async (_, keys) => {
  const local = new AtTerminal(['shell', id], env);
  await local.shows('/workspace#');
  local.type('kept=42; echo se"t"\r');
  await local.shows('set');
  local.type(keys);
  expect(await local.ended).toBe(0);
  expect(local.shown).toMatch(restored);
  const process = /emergent shell \S+ --attach ([0-9a-f-]{36})/.exec(local.shown)?.[1] ?? '';

  const again = new AtTerminal(['shell', id, '--attach', process.slice(0, 8)], env);
  await again.shows('kept=42');
  again.type('echo "kept is $kept"; exit 3\r');
  await again.shows('kept is 42');
  expect(await again.ended).toBe(3);
});

test('a server that restarts is waited for, and the shell goes on', async () => {
  const local = new AtTerminal(['shell', id], env);
  await local.shows('/workspace#');
  // What is on its way when the connection breaks may be lost.
  local.type('kept=43; echo se"t"\r');
  await local.shows('set');
  await server.restart();
  await local.shows('connected again');
  local.type('echo "kept is $kept"; exit 4\r');
  await local.shows('kept is 43');
  expect(await local.ended).toBe(4);
  expect(local.shown).toMatch(restored);
});

test('another command, and a workspace that is not there', async () => {
  const local = new AtTerminal(['shell', id, '--command', 'tty; exit 5'], env);
  expect(await local.ended).toBe(5);
  expect(local.shown).toMatch(/\n\/dev\/pts\/\d/);
  const nowhere = '00000000-0000-4000-8000-000000000000';
  const refused = await cli(['shell', nowhere], { env, input: '' });
  expect(refused.code).toBe(125);
  expect(refused.stderr).toMatch(/^emergent: there is no workspace/);
  const both = await cli(['shell', id, '--command', 'x', '--attach', 'abcd'], { env, input: '' });
  expect(both.code).toBe(2);
});

test('input from a pipe is typed and ended', async () => {
  const { code, stdout } = await cli(['shell', id], { env, input: 'echo one-$((1+1))\nfalse' });
  expect(stdout).toContain('one-2\r\n');
  expect(code).toBe(1);
});

test('what a program draws comes to the screen as it is', async () => {
  const draw = String.raw`stty -opost; printf "one\ntwo\r\nthree"`;
  const local = new AtTerminal(['shell', id, '--command', draw], env);
  expect(await local.ended).toBe(0);
  expect(local.shown).toContain('one\ntwo\r\nthree');
  expect(local.shown).toMatch(restored);
});
