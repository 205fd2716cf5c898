import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Used where the host's own name servers cannot be reached from a sandbox (a stub on loopback). */
const publicNameservers = ['1.1.1.1', '8.8.8.8'];

/** The host's name servers without those that only the host itself can reach. */
export async function hostNameservers(resolvConf = '/etc/resolv.conf'): Promise<readonly string[]> {
  const text = await readFile(resolvConf, 'utf8').catch(() => '');
  const found = [...text.matchAll(/^nameserver\s+(\S+)/gm)].flatMap((match) => match[1] ?? []);
  const reachable = found.filter(
    (address) => isIP(address) !== 0 && !/^(127\.|0\.|::1?$|fe80:)/i.test(address),
  );
  return reachable.length > 0 ? reachable : publicNameservers;
}
