import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { bounded, SessionIds } from '../../../../src/api/mcp/session-ids.ts';

const facts = {
  serverId: 'server',
  tokenId: 'token',
  protocolVersion: '2025-11-25',
  capabilities: { sampling: { tools: {} }, roots: { listChanged: true } },
};

test('an id holds its session, and each is another', () => {
  const ids = new SessionIds(randomBytes(32));
  const id = ids.make(facts);
  expect(ids.read(id)).toEqual(facts);
  expect(ids.make(facts)).not.toBe(id);
  expect(id).toMatch(/^[\x21-\x7e]+$/);
});

test('an id of another key, one that was changed, and one that was made up hold nothing', () => {
  const ids = new SessionIds(randomBytes(32));
  const id = ids.make(facts);
  const changed = `${id.slice(0, 30)}${id[30] === 'A' ? 'B' : 'A'}${id.slice(31)}`;
  for (const other of [
    changed,
    id.slice(4),
    '',
    'x'.repeat(100),
    new SessionIds(randomBytes(32)).make(facts),
  ]) {
    expect(ids.read(other)).toBeUndefined();
  }
});

test('what a client says that it can do is kept short', () => {
  const short = { sampling: { tools: {} }, roots: { listChanged: true } };
  expect(bounded({ ...short, experimental: { long: 'x'.repeat(100_000) } })).toEqual(short);
  expect(bounded({ sampling: { long: 'x'.repeat(100_000) }, roots: {} })).toEqual({
    ...{ sampling: {}, roots: {} },
  });
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`) as object;
  expect(bounded({ elicitation: deep })).toEqual({ elicitation: {} });
});
