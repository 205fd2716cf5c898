import { expect, test } from 'vitest';
import { HeldNotices } from '../../../../src/api/mcp/held-notices.ts';

const changed = { method: 'notifications/tools/list_changed' };
const updated = (uri: string) => ({ method: 'notifications/resources/updated', params: { uri } });

test('what is out of date is said once, and only to one who asks', () => {
  const held = new HeldNotices();
  for (const notice of [changed, updated('a'), changed, updated('b'), updated('a')]) {
    held.hold(notice);
  }
  held.hold({ method: 'notifications/message', params: { data: 'of its moment' } });
  expect(held.take()).toEqual([changed, updated('a'), updated('b')]);
  expect(held.take()).toEqual([]);
});

test('only so much is held', () => {
  const held = new HeldNotices();
  for (let number = 0; number < 10_000; number++) held.hold(updated(String(number)));
  expect(held.take()).toHaveLength(256);
});
