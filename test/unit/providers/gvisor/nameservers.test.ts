import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostNameservers } from '../../../../src/providers/gvisor/network/nameservers.ts';

const publicOnes = ['1.1.1.1', '8.8.8.8'];

describe('hostNameservers', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'resolv-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test.each([
    ['plain', 'nameserver 10.0.0.2\nnameserver 10.0.0.3\n', ['10.0.0.2', '10.0.0.3']],
    ['with the rest of the file', 'search lan\noptions ndots:1\nnameserver\t9.9.9.9', ['9.9.9.9']],
    ['with a comment behind', 'nameserver 9.9.9.9 # the office\n', ['9.9.9.9']],
    ['with comments only', '# nameserver 9.9.9.9\n; nameserver 9.9.9.8\n', publicOnes],
    ['with line ends of another system', 'nameserver 9.9.9.9\r\n', ['9.9.9.9']],
    ['IPv6', 'nameserver 2620:fe::fe\n', ['2620:fe::fe']],
    ['a stub on loopback', 'nameserver 127.0.0.53\noptions edns0\n', publicOnes],
    ['a stub and a real one', 'nameserver 127.0.0.53\nnameserver 9.9.9.9\n', ['9.9.9.9']],
    ['loopback in IPv6', 'nameserver ::1\n', publicOnes],
    ['a link-local address', 'nameserver FE80::1%eth0\n', publicOnes],
    ['no address at all', 'nameserver dns.example\nnameserver 9.9.9.9\n', ['9.9.9.9']],
    ['this host itself', 'nameserver 0.0.0.0\nnameserver ::\n', publicOnes],
    ['empty', '', publicOnes],
  ])('%s', async (name, text, expected) => {
    const path = join(directory, name.replaceAll(' ', '-'));
    await writeFile(path, text);
    expect(await hostNameservers(path)).toEqual(expected);
  });

  test('no such file', async () => {
    expect(await hostNameservers(join(directory, 'absent'))).toEqual(publicOnes);
  });
});
