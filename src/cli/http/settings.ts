import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure, UsageFailure, systemCode } from '../failure.ts';

/** Which server to talk to, and as whom. */
export interface Connection {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** For the message when the server refuses it. */
  readonly tokenSource: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const defaultUrl = 'http://127.0.0.1:7700';

export function connection(env: Environment, urlOption: string | undefined): Connection {
  const url = parseUrl(urlOption ?? (env['EMERGENT_URL'] || defaultUrl), urlOption !== undefined);
  return { url: url.href.replace(/\/+$/, ''), ...findToken(env, url) };
}

function parseUrl(text: string, fromOption: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    const from = fromOption ? '--url' : 'EMERGENT_URL';
    throw new UsageFailure(`${from}: "${text}" is not a URL`, `Write it like ${defaultUrl}.`);
  }
  url.search = '';
  url.hash = '';
  return url;
}

function findToken(env: Environment, url: URL): Pick<Connection, 'token' | 'tokenSource'> {
  const given = env['EMERGENT_TOKEN'];
  if (given) return { token: checked(given, 'EMERGENT_TOKEN'), tokenSource: 'EMERGENT_TOKEN' };
  // The file holds the admin token of this machine's server: no other machine may get to see it.
  if (!isThisMachine(url)) {
    throw new Failure('no_token', `no token for ${url.origin}`, {
      hint: 'Set EMERGENT_TOKEN to a token of that server; `emergent token create` makes one there.',
    });
  }
  const dataDir = resolve(env['EMERGENT_DATA_DIR'] || join(homedir(), '.emergent'));
  const file = join(dataDir, 'admin-token');
  return { token: checked(readTokenFile(file), file), tokenSource: file };
}

function isThisMachine(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127\./.test(url.hostname);
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const missing = systemCode(error) === 'ENOENT';
    const why = missing ? 'does not exist' : `cannot be read (${systemCode(error) ?? 'error'})`;
    throw new Failure('no_token', `no token: EMERGENT_TOKEN is not set and ${file} ${why}`, {
      hint: missing
        ? 'Is the server running? Start it with: npm start. Otherwise set EMERGENT_TOKEN.'
        : 'Run this as the user that started the server, or set EMERGENT_TOKEN.',
      cause: error,
    });
  }
}

/** A token goes into a header: anything but printable characters would break the request, not be refused. */
function checked(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Failure('bad_token', `the token in ${source} is not a token`, {
    hint: 'A token is one word of printable characters, such as `emergent token create` prints.',
  });
}
