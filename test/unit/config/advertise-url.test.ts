import { expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/config.ts';

const name = 'EMERGENT_ADVERTISE_URL';

test.each([
  ['', undefined],
  ['http://10.0.0.7:7700', 'http://10.0.0.7:7700'],
  ['https://a.example/', 'https://a.example'],
  ['HTTPS://A.example:443/behind/a/', 'https://a.example/behind/a'],
  ['http://[fd00::1]:7700', 'http://[fd00::1]:7700'],
])('%s is taken', (text, url) => {
  expect(loadConfig({ [name]: text }).advertiseUrl).toBe(url);
});

test.each([
  ['a.example:7700', 'is not an http:// or https:// URL'],
  ['7700', 'is not an http:// or https:// URL'],
  ['http://', 'is not an http:// or https:// URL'],
  ['unix:///run/a.sock', 'is not an http:// or https:// URL'],
  ['http://me:s3cret@a.example', 'must not hold credentials'],
  ['http://s3cret@a.example', 'must not hold credentials'],
  ['http://a.example/?', 'must have neither a query nor a fragment'],
  ['http://a.example/?key=s3cret', 'must have neither a query nor a fragment'],
  ['http://a.example/#a', 'must have neither a query nor a fragment'],
])('%s is refused, and not repeated', (text, problem) => {
  expect(() => loadConfig({ [name]: text })).toThrow(new ConfigError([`${name}: ${problem}`]));
});
