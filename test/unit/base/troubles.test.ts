import { expect, test } from 'vitest';
import { Troubles } from '../../../src/base/troubles.ts';
import { recordLog } from '../../support/log.ts';

test('a trouble is told when it begins, changes and ends, each by itself', () => {
  const { log, entries } = recordLog();
  const troubles = new Troubles(log);
  troubles.over('a', 'a is well');
  troubles.note('a', 'a is ill', 'cold');
  troubles.note('a', 'a is ill', 'cold');
  troubles.note('b', 'b is ill', new Error('cold'));
  troubles.note('a', 'a is ill', 'fever');
  troubles.over('a', 'a is well');
  troubles.over('a', 'a is well');
  troubles.note('a', 'a is ill', 'fever');
  expect(entries().map(({ level, msg, reason }) => [level, msg, reason])).toEqual([
    ['warn', 'a is ill', 'cold'],
    ['warn', 'b is ill', undefined],
    ['warn', 'a is ill', 'fever'],
    ['info', 'a is well', undefined],
    ['warn', 'a is ill', 'fever'],
  ]);
  expect(entries()[1]?.['err']).toMatchObject({ message: 'cold' });
});
