import { EmergentError } from './errors.ts';

/** A repository to clone. The URL never holds a secret; what was in it is apart, and never shown. */
export interface Repository {
  readonly url: string;
  readonly branch?: string;
  readonly credentials?: RepositoryCredentials;
}

export interface RepositoryCredentials {
  readonly user: string;
  readonly password: string;
}

/** What git may be asked to clone from; the others can run programs. */
export const repositoryProtocols = ['https', 'http', 'ssh', 'git', 'file'] as const;

/** `user@host:path`, as ssh has it. */
const secureCopyForm = /^[\w.-]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s:-][^\s]*$/;

/** Throws `invalid_value`; no message holds any part of the text, which may be a secret. */
export function parseRepository(text: string, field: string): Repository {
  if (/[\s\p{Cc}]/u.test(text)) throw bad(field, 'must not contain white space');
  if (!text.includes('://') && secureCopyForm.test(text)) return { url: text };
  const url = URL.parse(text);
  const protocol = repositoryProtocols.find((name) => url?.protocol === `${name}:`);
  if (!url || !protocol || !text.includes('://')) {
    throw bad(field, `must be a URL (${repositoryProtocols.join(', ')}) or user@host:path`);
  }
  if (url.hash !== '') throw bad(field, 'must not have a fragment');
  if (url.pathname === '' || url.pathname === '/') throw bad(field, 'names no repository');
  if (protocol === 'file' ? url.host !== '' : url.hostname === '') {
    throw bad(field, protocol === 'file' ? 'must have no host: file:///path' : 'names no host');
  }
  if (url.hostname.startsWith('-')) throw bad(field, 'names no host');
  const credentials = takeCredentials(url, protocol, field);
  return { url: url.href, ...(credentials && { credentials }) };
}

/** Takes the secrets out of the URL. The user of an ssh URL is none, and the host needs it. */
function takeCredentials(
  url: URL,
  protocol: (typeof repositoryProtocols)[number],
  field: string,
): RepositoryCredentials | undefined {
  const given = { user: url.username, password: url.password };
  if (protocol === 'ssh') {
    if (given.password !== '') throw bad(field, 'must not have a password: ssh takes keys');
    if (given.user.startsWith('-')) throw bad(field, 'has a user that begins with -');
    return undefined;
  }
  if (given.user === '' && given.password === '') return undefined;
  if (protocol === 'git' || protocol === 'file') {
    throw bad(field, `must not have a user: ${protocol} knows none`);
  }
  url.username = '';
  url.password = '';
  try {
    return {
      user: decodeURIComponent(given.user),
      password: decodeURIComponent(given.password),
    };
  } catch {
    throw bad(field, 'has a user or a password that is not percent-encoded');
  }
}

/** The rules of git for names of branches, and no more than fits a row. */
export function isRefName(name: string): boolean {
  return (
    Buffer.byteLength(name) <= 255 &&
    /^[^-/.\s\p{Cc}~^:?*[\\][^\s\p{Cc}~^:?*[\\]*$/u.test(name) &&
    !/\.\.|@\{|\/\/|\/\.|\.lock(\/|$)|[/.]$/.test(name) &&
    name !== '@'
  );
}

/** Removes what may be a secret from text that holds URLs. */
export function withoutCredentials(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*@/gi, '$1');
}

function bad(field: string, problem: string): EmergentError {
  return new EmergentError('invalid_value', `${field}: ${problem}`);
}
