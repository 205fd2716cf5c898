import { beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../../../src/domain/caller.ts';
import type { Peer } from '../../../../src/domain/store.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';
import { mcpPeers } from '../../../../src/engine/mcp/peers.ts';
import type { Supervisor } from '../../../../src/engine/mcp/supervisor.ts';
import { mcpConfig } from '../../../store/fixtures/mcp-servers.ts';

const there: Peer = { number: 3, url: 'http://there' };
const mine = '00000000-0000-4000-8000-00000000000a';
const theirs = '00000000-0000-4000-8000-00000000000b';
const me: Caller = { tokenId: 'me', role: 'agent' };
const admin: Caller = { tokenId: 'admin', role: 'admin' };

let rows: readonly Workspace[] = [];
let hosts: ReadonlyMap<string, Peer> = new Map();
let here: readonly string[] = [];
let questions: string[] = [];

const peers = mcpPeers({
  store: { get: async (id) => rows.find((row) => row.id === id) },
  mcp: { find: async (name) => rows.filter(({ mcpConfig: config }) => config?.name === name) },
  host: { find: (ref) => (here.includes(ref) ? ({} as Supervisor) : undefined) },
  peers: {
    number: 7,
    async hostsOf(ref) {
      questions.push(ref);
      return hosts;
    },
  },
});
const row = (id: string, owner: string, shared = false): Workspace =>
  ({ id, owner, mcpConfig: mcpConfig({ name: 'same', shared }) }) as Workspace;

beforeEach(() => {
  rows = [row(mine, 'me'), row(theirs, 'them')];
  hosts = new Map([
    [mine, there],
    [theirs, there],
  ]);
  here = [];
  questions = [];
});

test('what is hosted here is known without a question', async () => {
  here = ['same'];
  expect(await peers.hostOf(me, 'same')).toBeUndefined();
  expect(questions).toEqual([]);
  expect(peers.number).toBe(7);
});

test('one’s own is meant before anybody else’s of the same name', async () => {
  hosts = new Map([[theirs, there]]);
  expect(await peers.hostOf(me, 'same')).toBeUndefined();
  hosts = new Map([[mine, there]]);
  expect(await peers.hostOf(me, 'same')).toBe(there);
  expect(await peers.hostOf(me, mine)).toBe(there);
});

test('what the caller may not see is passed to nobody', async () => {
  expect(await peers.hostOf(me, theirs)).toBeUndefined();
  rows = [row(theirs, 'them')];
  expect(await peers.hostOf(me, 'same')).toBeUndefined();
  expect(await peers.hostOf(admin, 'same')).toBe(there);
  rows = [row(theirs, 'them', true)];
  expect(await peers.hostOf(me, 'same')).toBe(there);
});

test('a name that may mean several is for this server to refuse', async () => {
  expect(await peers.hostOf(admin, 'same')).toBeUndefined();
  expect(await peers.hostOf(admin, theirs)).toBe(there);
});
