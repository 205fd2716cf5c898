import { isIP } from 'node:net';

export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`"${text}" is not a port number`);
  return port;
}

export function numberFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (!/^\d+$/.test(text) || count < min || count > max) {
      throw new Error(`"${text}" is not a number from ${String(min)} to ${String(max)}`);
    }
    return count;
  };
}

export function parseBoolean(text: string): boolean {
  if (['true', '1', 'yes'].includes(text.toLowerCase())) return true;
  if (['false', '0', 'no'].includes(text.toLowerCase())) return false;
  throw new Error(`"${text}" is not true or false`);
}

export function parseSecret(text: string): string | undefined {
  if (text === '') return undefined;
  if (text.length < 16 || !/^[\x21-\x7e]+$/.test(text)) {
    throw new Error('needs at least 16 printable characters without spaces');
  }
  return text;
}

export function parseDatabaseUrl(text: string): string | undefined {
  if (text === '') return undefined;
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) {
    throw new Error('is not a postgres:// URL');
  }
  return text;
}

export function parseDockerHost(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  const place = url?.protocol === 'unix:' ? url.pathname : url?.hostname;
  if (!place || !['unix:', 'tcp:', 'http:', 'https:'].includes(url?.protocol ?? '')) {
    throw new Error(`"${text}" is not a URL such as unix:///run/docker.sock or tcp://host:2375`);
  }
  return text;
}

/** Nothing of it is repeated in a problem: it may hold a password. */
export function parseAdvertiseUrl(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error('is not an http:// or https:// URL');
  }
  if (url.username !== '' || url.password !== '') throw new Error('must not hold credentials');
  if (/[?#]/.test(text)) throw new Error('must have neither a query nor a fragment');
  return url.href.replace(/\/+$/, '');
}

/** The agent in a sandbox does not start with a name server that is no address. */
export function parseAddresses(text: string): readonly string[] {
  const addresses = text.split(',').flatMap((item) => item.trim() || []);
  for (const address of addresses) {
    if (isIP(address) === 0) throw new Error(`"${address}" is not an IP address`);
  }
  return addresses;
}

export function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((item) => item === text);
    if (found === undefined) throw new Error(`"${text}" is not one of ${allowed.join(', ')}`);
    return found;
  };
}

/** The use of a busy workspace is noted several times within the shortest. */
export function parseTtl(text: string): number {
  const seconds = parseDuration(text);
  if (seconds < 60) throw new Error(`"${text}" is less than a minute`);
  return seconds;
}

export function parseReconcileInterval(text: string): number {
  const seconds = parseDuration(text);
  if (seconds < 5 || seconds > 3600) throw new Error(`"${text}" is not between 5s and 1h`);
  return seconds;
}

export function parseIdleTime(text: string): number | null {
  return ['off', 'false', '0', '0s'].includes(text.toLowerCase()) ? null : parseDuration(text);
}

const durationUnits: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** Ten years: what the API allows, and far from where dates end. */
const longestSeconds = 3650 * 86_400;

/** "90s", "15m", "12h", "30d" in seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text);
  const seconds = Number(match?.[1]) * (durationUnits[match?.[2] ?? ''] ?? Number.NaN);
  if (!(seconds > 0 && seconds <= longestSeconds)) {
    throw new Error(`"${text}" is not a duration such as 90s, 15m, 12h or 30d, at most 3650d`);
  }
  return seconds;
}
