import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { untilAborted } from '../../base/until-aborted.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { FileContent, ReadOptions, WriteOptions, WrittenFile } from '../../domain/provider.ts';
import { toEmergentError } from './errors.ts';
import type { BulkLink } from './bulk.ts';
import { CountedContent } from './counted-content.ts';
import { fileContent } from './file-content.ts';
import type { GuestRequest, GuestResponse, GuestSend } from './http.ts';

/** Relative paths start here. */
export const guestWorkdir = '/workspace';

/** What the agent's HTTP statuses mean for a file. */
const meanings: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_value',
  401: 'sandbox_unreachable',
  403: 'permission_denied',
  404: 'file_not_found',
  412: 'file_changed',
  507: 'disk_full',
};
/** Where the status is not enough, the agent names the reason. */
const reasons: Readonly<Record<string, ErrorCode>> = { is_directory: 'is_directory' };
/** How the agent calls the names in a directory; it sends them only to whoever accepts them. */
const listingType = 'application/vnd.emergent.names';
const errorBodyBytes = 4_096;
/** Up to this size a file is not worth a stream of its own. */
const inlineBytes = 512 * 1024;

class TooLargeInline extends Error {}

/** Reading and writing whole files: small ones as requests of the session, large ones on streams of their own. */
export class GuestFiles {
  readonly #session: GuestSend;
  readonly #bulk: BulkLink;

  constructor(session: GuestSend, bulk: BulkLink) {
    this.#session = session;
    this.#bulk = bulk;
  }

  async read(
    relativePath: string,
    signal: AbortSignal,
    { directories = false }: ReadOptions = {},
  ): Promise<FileContent> {
    const path = absolute(relativePath);
    const { headers, body } = await this.#get(path, directories, signal);
    const length = headers['content-length'];
    const size = length === undefined ? null : Number(length);
    const isListing = headers['content-type'] === listingType;
    if (isListing && !directories) {
      body.destroy();
      throw new EmergentError('is_directory', `${path} is a directory`);
    }
    return {
      path,
      size,
      version: versionIn(headers['etag']),
      ...(isListing && { directory: true }),
      content: fileContent(body, size, path),
    };
  }

  async write(
    relativePath: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    { ifVersion }: WriteOptions = {},
  ): Promise<WrittenFile> {
    const path = absolute(relativePath);
    const source = new CountedContent(content);
    const condition = ifVersion === undefined ? {} : { 'if-match': ifVersion };
    try {
      const isSmall = await this.#isSmall(source, signal);
      const { headers, body } = await fileRequest(this.#wayFor(isSmall), path, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream', ...condition },
        body: source.all(),
        signal,
      });
      body.resume();
      return { path, size: source.bytes, created: headers['x-emergent-created'] === 'true' };
    } catch (error) {
      source.abandon();
      throw toEmergentError(error, `writing ${path}`);
    }
  }

  /** Only the agent knows the size, so the session is asked first, and answers only if the file is small. */
  async #get(path: string, directories: boolean, signal: AbortSignal): Promise<GuestResponse> {
    const accept = directories ? { accept: `application/octet-stream, ${listingType}` } : {};
    const get = (send: GuestSend, headers = {}): Promise<GuestResponse> =>
      fileRequest(send, path, { method: 'GET', headers: { ...accept, ...headers }, signal });
    if (this.#bulk.idle) return get(this.#bulk.send);
    if (!this.#bulk.available) return get(this.#session);
    try {
      return await get(this.#session, { 'x-emergent-inline-max': String(inlineBytes) });
    } catch (error) {
      if (!(error instanceof TooLargeInline)) throw error;
      return get(this.#wayFor(false));
    }
  }

  /**
   * Nobody knows the size before the end, so where it decides which way to go the beginning is held back. False also
   * where it does not decide.
   */
  async #isSmall(source: CountedContent, signal: AbortSignal): Promise<boolean> {
    if (this.#bulk.idle || !this.#bulk.available) return false;
    return untilAborted(source.fill(inlineBytes), signal);
  }

  /** To be gone at once: the next who asks is given the same. */
  #wayFor(isSmall: boolean): GuestSend {
    if (this.#bulk.idle) return this.#bulk.send;
    return isSmall || !this.#bulk.available ? this.#session : this.#bulk.send;
  }
}

/** It goes back as a header, so it must be one; the agent's own are far shorter. */
function versionIn(etag: string | string[] | undefined): string | null {
  return typeof etag === 'string' && /^"[!#-~]{1,200}"$/.test(etag) ? etag : null;
}

function absolute(path: string): string {
  if (path === '') throw new EmergentError('invalid_value', 'the path is empty');
  return posix.resolve(guestWorkdir, path);
}

/** A refusal becomes the error it stands for. */
async function fileRequest(
  send: GuestSend,
  path: string,
  request: Omit<GuestRequest, 'path'>,
): Promise<GuestResponse> {
  const query = `/files?path=${encodeURIComponent(path)}`;
  const answer = await send({ ...request, path: query });
  if (answer.status === 200) return answer;
  const { message, reason } = await refusal(answer.body);
  if (reason === 'too_large_inline') throw new TooLargeInline();
  const code = reasons[reason] ?? meanings[answer.status] ?? 'provider_failed';
  throw new EmergentError(code, message || `${path}: ${String(answer.status)}`);
}

/** The agent's own words, bounded: what comes out of a sandbox is untrusted. */
async function refusal(body: Readable): Promise<{ message: string; reason: string }> {
  let text = '';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8');
      if (text.length > errorBodyBytes) break;
    }
    const said: unknown = JSON.parse(text);
    return { message: stringIn(said, 'message'), reason: stringIn(said, 'reason') };
  } catch (error) {
    return { message: `unreadable answer of the agent: ${reasonOf(error)}`, reason: '' };
  }
}

function stringIn(value: unknown, name: string): string {
  const found: unknown = typeof value === 'object' && value !== null && Reflect.get(value, name);
  return typeof found === 'string' ? found : '';
}
