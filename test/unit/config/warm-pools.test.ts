import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, poolDefinitions } from '../../../src/config.ts';

const GiB = 2 ** 30;
const name = 'WORKSPACE_WARM_POOLS';

function problemsOf(pools: unknown): readonly string[] {
  try {
    loadConfig({ [name]: typeof pools === 'string' ? pools : JSON.stringify(pools) });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe(name, () => {
  test('takes all that a request can ask for, and leaves open what an entry leaves out', () => {
    const whole = {
      ...{ name: 'python', size: 3, image: 'python:3.13', cpu: 0.5, memory: '2G', disk: '5G' },
      ...{ network: 'isolated', provider: 'gvisor' },
    };
    const text = JSON.stringify([whole, { name: 'b', size: 0, cpu: '1.5', memory: GiB }]);
    expect(loadConfig({ [name]: text }).warmPools).toEqual([
      {
        ...{ name: 'python', size: 3, image: 'python:3.13', cpu: 0.5, memoryBytes: 2 * GiB },
        ...{ diskBytes: 5 * GiB, network: 'isolated', provider: 'gvisor' },
      },
      { name: 'b', size: 0, cpu: 1.5, memoryBytes: GiB },
    ]);
  });

  test.each<[string, unknown]>([
    ['is not JSON: ', '[{'],
    ['is not a JSON array of objects', {}],
    ['is not a JSON array of objects', [[]]],
    ['is not a JSON array of objects', [null]],
    ['pool 1: name: is missing', [{ size: 1 }]],
    [
      'pool 2: name: 5 is not a name',
      [
        { name: 'a', size: 1 },
        { name: 5, size: 1 },
      ],
    ],
    ['pool "Big": name: "Big" is not a name', [{ name: 'Big', size: 1 }]],
    ['pool "default": name: "default" is the pool that', [{ name: 'default', size: 1 }]],
    ['pool "a": size: is missing', [{ name: 'a' }]],
    ['pool "a": size: "3" is not a whole number', [{ name: 'a', size: '3' }]],
    ['pool "a": size: 1.5 is not a whole number', [{ name: 'a', size: 1.5 }]],
    ['pool "a": size: -1 is not', [{ name: 'a', size: -1 }]],
    ['pool "a": size: 201 is not', [{ name: 'a', size: 201 }]],
    ['pool "a": size: null is not', [{ name: 'a', size: null }]],
    ['pool "a": there is no field "sise", only name, size', [{ name: 'a', size: 1, sise: 2 }]],
    ['pool "a": image: "A B" is not an image', [{ name: 'a', size: 1, image: 'A B' }]],
    ['pool "a": image: 7 is not text', [{ name: 'a', size: 1, image: 7 }]],
    ['pool "a": cpu: "two" is not', [{ name: 'a', size: 1, cpu: 'two' }]],
    ['pool "a": cpu: true is neither', [{ name: 'a', size: 1, cpu: true }]],
    ['pool "a": memory: "4X" is not a size', [{ name: 'a', size: 1, memory: '4X' }]],
    ['pool "a": disk: 1M is not between', [{ name: 'a', size: 1, disk: '1M' }]],
    ['pool "a": network: "host" is not one of nat', [{ name: 'a', size: 1, network: 'host' }]],
    ['pool "a": provider: "" is not the name', [{ name: 'a', size: 1, provider: '' }]],
    [
      'pool "a": there are several',
      [
        { name: 'a', size: 1 },
        { name: 'a', size: 2 },
      ],
    ],
  ])('%s', (says, pools) => {
    const problems = problemsOf(pools);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${name}: ${says}`);
  });

  test('everything that is wrong is told at once', () => {
    expect(
      problemsOf([
        { size: -1, foo: 1 },
        { name: 'a', size: 1, cpu: 0 },
      ]),
    ).toEqual([
      `${name}: pool 1: there is no field "foo", only name, size, image, cpu, memory, disk, network, provider`,
      `${name}: pool 1: name: is missing`,
      `${name}: pool 1: size: -1 is not a whole number from 0 to 200`,
      `${name}: pool "a": cpu: "0" is not a number of CPUs`,
    ]);
  });

  test('any JSON gives pools or problems', () => {
    const entry = fc.record(
      { name: fc.anything(), size: fc.anything(), image: fc.anything(), cpu: fc.anything() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(entry, fc.jsonValue())), (pools) => {
        for (const problem of problemsOf(JSON.stringify(pools))) expect(problem).toContain(name);
      }),
    );
  });
});

test('the pool for plain requests comes first, and the others take its defaults', () => {
  const config = loadConfig({
    WORKSPACE_WARM_POOL_SIZE: '4',
    WORKSPACE_DEFAULT_CPU: '1',
    [name]: '[{"name":"small","size":1,"memory":"512M","image":"debian:12"},{"name":"b","size":0}]',
  });
  const limits = { cpu: 1, memoryBytes: 4 * GiB, diskBytes: 10 * GiB };
  const plain = { image: 'base', limits, network: 'nat', provider: 'auto' };
  expect(poolDefinitions(config, 'base')).toEqual([
    { ...plain, name: 'default', size: 4 },
    {
      ...{ ...plain, name: 'small', size: 1, image: 'debian:12' },
      limits: { ...limits, memoryBytes: GiB / 2 },
    },
    { ...plain, name: 'b', size: 0 },
  ]);
});
