import { describe, expect, test } from 'vitest';
import { jsonArguments, typedArguments } from '../../../src/cli/input/mcp-tool-arguments.ts';
import { parametersOf } from '../../../src/cli/input/mcp-tool-schema.ts';

const tool = {
  name: 'paint',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer' },
      ratio: { type: 'number' },
      wet: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      sizes: { type: 'array', items: { type: 'number' } },
      options: { type: 'object' },
      maybe: { type: ['number', 'null'] },
      either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      colour: { enum: ['red', 'blue'] },
      anything: {},
    },
    required: ['text'],
  },
};

describe('key=value', () => {
  test.for<[string, unknown]>([
    ['text=12', '12'],
    ['text=', ''],
    ['text=a=b', 'a=b'],
    ['count=3', 3],
    ['count=-3', -3],
    ['ratio=1.5', 1.5],
    ['wet=true', true],
    ['wet=false', false],
    ['tags=["a","b"]', ['a', 'b']],
    ['tags=a', ['a']],
    ['sizes=1', [1]],
    ['options={"a":1}', { a: 1 }],
    ['maybe=null', null],
    ['maybe=4', 4],
    ['either=4', 4],
    ['either=four', 'four'],
    ['colour=red', 'red'],
    ['anything=1', '1'],
  ])('%s', ([word, value]) => {
    const key = word.slice(0, word.indexOf('='));
    const words = key === 'text' ? [word] : ['text=x', word];
    expect(typedArguments(words, tool)[key]).toEqual(value);
  });

  test('a key that is said several times makes a list', () => {
    const words = ['text=x', 'tags=a', 'tags=b', 'sizes=1', 'sizes=2'];
    expect(typedArguments(words, tool)).toEqual({ text: 'x', tags: ['a', 'b'], sizes: [1, 2] });
  });

  test.for<[readonly string[], RegExp]>([
    [['text=x', 'count=1.5'], /^count is to be integer, and "1\.5" is not$/],
    [['text=x', 'count=many'], /^count is to be integer/],
    [['text=x', 'wet=yes'], /^wet is to be boolean/],
    [['text=x', 'options=a'], /^options is to be object/],
    [['text=x', 'sizes=1', 'sizes=b'], /^sizes is to be array, and "1 b" is not$/],
    [['text=x', 'text=y'], /^text is to be string, and "x y" is not$/],
    [['text=x', 'txet=y'], /^paint takes no argument txet$/],
    [['count=1'], /^paint lacks text$/],
    [['text'], /^"text" is not an argument$/],
    [['=x'], /^"=x" is not an argument$/],
  ])('%j is refused', ([words, reason]) => {
    expect(() => typedArguments(words, tool)).toThrow(reason);
  });

  test('a tool that takes any name takes it as text', () => {
    const open = { name: 'open', inputSchema: { type: 'object', additionalProperties: true } };
    expect(typedArguments(['a=1'], open)).toEqual({ a: '1' });
  });
});

describe('JSON', () => {
  test('one object is taken as it is; no word at all is no argument', () => {
    expect(jsonArguments(['{"a":[1]}'])).toEqual({ a: [1] });
    expect(jsonArguments([])).toEqual({});
    expect(jsonArguments(['a=1'])).toBeUndefined();
  });

  test.for<[readonly string[], RegExp]>([
    [['{"a":'], /^the arguments are not JSON: /],
    [['{}', 'b=1'], /^too much behind the JSON: b=1$/],
  ])('%j is refused', ([words, reason]) => {
    expect(() => jsonArguments(words)).toThrow(reason);
  });
});

test('the arguments of a tool, those that must be given first', () => {
  const { properties } = tool.inputSchema;
  const some = { a: properties.either, b: properties.text, c: {} };
  const short = { name: 'x', inputSchema: { properties: some, required: ['b'] } };
  expect(parametersOf(short)).toEqual([
    { name: 'b', type: 'string', required: true },
    { name: 'a', type: 'string|number', required: false },
    { name: 'c', type: 'any', required: false },
  ]);
});
