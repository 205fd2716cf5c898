import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatSize,
  parseCpu,
  parseDisk,
  parseMemory,
  parseSize,
} from '../../../src/domain/limits.ts';

describe('parseSize', () => {
  test.each([
    ['512M', 512 * 2 ** 20],
    ['0.5G', 2 ** 29],
    ['4G', 2 ** 32],
    ['10GB', 10 * 2 ** 30],
    ['10GiB', 10 * 2 ** 30],
    ['2t', 2 ** 41],
    ['1 k', 1024],
    [' 7B ', 7],
    ['1073741824', 2 ** 30],
  ])('%j is %d bytes', (text, bytes) => {
    expect(parseSize(text, 'memory')).toBe(bytes);
  });

  test.each([
    '',
    ' ',
    '0',
    '0G',
    '-1G',
    '1.G',
    '.5G',
    '1e3',
    '0x10',
    '1GG',
    '1P',
    'G',
    'NaN',
    'Infinity',
    '1,5G',
    '1G 1M',
    '1\n2',
    '0.0000000001K',
    '99999999999T',
    '١G',
  ])('refuses %j and names the field', (text) => {
    const refused = { code: 'invalid_value', message: `memory: "${text}" is not a size` };
    expect(() => parseSize(text, 'memory')).toThrow(expect.objectContaining(refused));
  });

  test('reads back every size that formatSize writes', () => {
    const size = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(fc.property(size, (bytes) => parseSize(formatSize(bytes), 'disk') === bytes));
  });

  test('answers any text with a positive whole number or with an invalid_value', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[\d.]{1,20} ?[KMGTkmgt]?i?B?$/)),
        (text) => {
          try {
            const bytes = parseSize(text, 'disk');
            return Number.isSafeInteger(bytes) && bytes > 0;
          } catch (error) {
            expect(error).toMatchObject({ code: 'invalid_value' });
            return true;
          }
        },
      ),
    );
  });
});

describe('formatSize', () => {
  test.each([
    [4 * 2 ** 30, '4G'],
    [512 * 2 ** 20, '512M'],
    [1536 * 2 ** 20, '1536M'],
    [1000, '1000'],
    [2 ** 40, '1T'],
  ])('%d is %s', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });
});

describe('parseCpu', () => {
  test.each([
    ['2', 2],
    ['0.5', 0.5],
    [' 1.5 ', 1.5],
  ])('%j is %d cores', (text, cores) => {
    expect(parseCpu(text, 'cpu')).toBe(cores);
  });

  test.each(['', '0', '0.0', '-1', '1.', '.5', '1e2', '2 cores', 'Infinity', '9'.repeat(400)])(
    'refuses %j and names the field',
    (text) => {
      const refused = { code: 'invalid_value', message: `cpu: "${text}" is not a number of CPUs` };
      expect(() => parseCpu(text, 'cpu')).toThrow(expect.objectContaining(refused));
    },
  );

  test('reads any decimal within bounds as that number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 50, max: 1_024_000 }), (thousandths) => {
        const cores = thousandths / 1000;
        return parseCpu(String(cores), 'cpu') === cores;
      }),
    );
  });
});

describe('bounds', () => {
  test.each([
    ['0.05', 0.05],
    ['1024', 1_024],
  ])('%s CPUs can be asked for', (text, cores) => {
    expect(parseCpu(text, 'cpu')).toBe(cores);
  });

  test.each(['0.04', '1024.1'])('%s CPUs cannot', (text) => {
    expect(() => parseCpu(text, 'cpu')).toThrow(`cpu: ${text} is not between 0.05 and 1024`);
  });

  test('memory and disk have bounds of their own', () => {
    expect(parseMemory('64M', 'memory')).toBe(64 * 2 ** 20);
    expect(parseDisk('1024T', 'disk')).toBe(1_024 * 2 ** 40);
    expect(() => parseMemory('63M', 'memory')).toThrow('memory: 63M is not between 64M and 64T');
    expect(() => parseMemory('65T', 'memory')).toThrow('memory: 65T');
    expect(() => parseDisk('1K', 'disk')).toThrow('disk: 1K is not between 64M and 1024T');
  });
});
