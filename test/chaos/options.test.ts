import { describe, expect, test } from 'vitest';
import { differences } from './inventory.ts';
import { lasting } from './lasting.ts';
import type { Complaint } from './lasting.ts';
import { readArguments, UsageError } from './options.ts';
import { Random } from './random.ts';

describe('the arguments of the kill test', () => {
  test('have defaults: every fault that the database allows', () => {
    expect(readArguments([])).toMatchObject({
      ...{ minutes: 1, clients: 8, database: 'pglite', faults: ['server', 'engine'], json: false },
    });
    expect(readArguments(['--database', 'postgres'])).toMatchObject({
      faults: ['server', 'engine', 'database'],
    });
    expect(readArguments(['--minutes', '0.5', '--seed', '7', '--faults', 'server'])).toMatchObject({
      ...{ minutes: 0.5, seed: 7, faults: ['server'] },
    });
    expect(readArguments(['--help'])).toBeUndefined();
  });

  test.each([
    [['--minutes', 'x'], '--minutes: "x" is not a number above 0'],
    [['--faults', 'server,network'], '--faults: "network" is not one of server, engine, database'],
    [['--faults', 'database'], '--faults database needs --database postgres'],
    [['--what'], '--what'],
  ])('are refused with a reason: %j', (argv, reason) => {
    expect(() => readArguments(argv)).toThrow(UsageError);
    expect(() => readArguments(argv)).toThrow(reason);
  });
});

describe('what the kill test is built of', () => {
  test('a seed repeats every choice, and its forks differ', () => {
    const draw = (random: Random): number[] =>
      Array.from({ length: 20 }, () => random.integer(0, 100));
    expect(draw(new Random(5))).toEqual(draw(new Random(5)));
    expect(draw(new Random(5).fork(1))).not.toEqual(draw(new Random(5).fork(2)));
    const picks = new Set(
      Array.from({ length: 200 }, () => new Random(9).weighted({ a: 1, b: 0 })),
    );
    expect(picks).toEqual(new Set(['a']));
  });

  test('only what is there at every look is complained of', async () => {
    const about = (subject: string): Complaint => ({ subject, complaint: 'is left' });
    const looks = [
      [about('stays'), about('goes')],
      [about('comes'), about('stays')],
    ];
    const look = async (): Promise<readonly Complaint[]> => looks.shift() ?? [about('stays')];
    expect(await lasting(look, 1)).toEqual([about('stays')]);
    expect(await lasting(async () => [], 1)).toEqual([]);
  });

  test('rows and what is on the engine are held against each other one to one', () => {
    expect(differences('volume', new Set(['a', 'b']), ['b', 'a'])).toEqual([]);
    expect(differences('volume', new Set(['a', 'b']), ['b', 'b', 'c'])).toEqual([
      { subject: 'volume of b', complaint: 'is there 2 times' },
      { subject: 'volume of c', complaint: 'is there, and no workspace is' },
      { subject: 'volume of a', complaint: 'is missing, and its workspace is there' },
    ]);
  });
});
