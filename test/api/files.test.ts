import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { RawConnection } from './support/raw-http.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { bytesOf } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';

let store: TestStore;
let server: TestServer;
let id: string;
let files: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
  files = `${workspaces}/${id}/files`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const at = (path: string): string => `${files}?path=${encodeURIComponent(path)}`;

describe('a file', () => {
  test('of 50 MB goes in and comes out unchanged', async () => {
    const block = randomBytes(2 ** 20);
    const sent = createHash('sha256');
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < 50; i++) {
          sent.update(block);
          controller.enqueue(block);
        }
        controller.close();
      },
    });
    const size = 50 * 2 ** 20;
    expect(await server.admin.json(200, 'PUT', at('big'), { body })).toEqual({
      path: '/workspace/big',
      size,
    });
    const response = await server.admin.fetch('GET', at('big'));
    expect(response.headers.get('content-length')).toBe(String(size));
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const received = createHash('sha256');
    for await (const chunk of bytesOf(response)) received.update(chunk);
    expect(received.digest('hex')).toBe(sent.digest('hex'));
  });

  test.each(['text/plain', 'application/json', 'multipart/form-data', 'application/x-tar'])(
    'may be of any type: %s',
    async (type) => {
      const body = '{"not": "parsed"';
      const headers = { 'content-type': type };
      await server.admin.json(200, 'PUT', at('typed'), { body, headers });
      expect(await (await server.admin.fetch('GET', at('typed'))).text()).toBe(body);
    },
  );

  test('may be empty, and may have any name', async () => {
    const name = 'dir/a b&c=ü%.txt';
    expect(await server.admin.json(200, 'PUT', at(name))).toMatchObject({ size: 0 });
    const response = await server.admin.fetch('GET', at(name));
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
    await server.admin.json(200, 'PUT', at('b'.repeat(200)), { body: 'x' });
  });

  test('that is missing, a directory or out of reach says so', async () => {
    expect((await server.admin.error(404, 'GET', at('missing'))).code).toBe('file_not_found');
    expect((await server.admin.error(422, 'GET', at('.'))).code).toBe('is_directory');
    const put = await server.admin.error(422, 'PUT', at('/workspace'), { body: 'x' });
    expect(put.code).toBe('is_directory');
  });
});

test('a client that goes away in the middle of an upload leaves no part of it', async () => {
  await server.admin.json(200, 'PUT', at('kept'), { body: 'old' });
  const connection = await RawConnection.open(server.port);
  connection.send(
    `PUT ${at('kept')} HTTP/1.1`,
    ...['Host: test', `Authorization: Bearer ${server.admin.token ?? ''}`],
    ...['Content-Length: 10000000', '', 'x'.repeat(1_000_000)],
  );
  const staging = join(server.root, `emergent-${id}`, 'staging');
  await eventually(async () => {
    expect(await readdir(staging)).toHaveLength(1);
  });
  connection.socket.destroy();
  await eventually(async () => {
    expect(await readdir(staging)).toEqual([]);
  });
  expect(await (await server.admin.fetch('GET', at('kept'))).text()).toBe('old');
  await eventually(() => {
    const lines = server.recorded.entries().filter((entry) => entry['status'] === 499);
    expect(lines).toContainEqual(expect.objectContaining({ method: 'PUT', code: 'client_closed' }));
  });
  expect(server.recorded.entries().filter(({ level }) => level === 'error')).toEqual([]);
});

/** The sandboxes' files that this process has open. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(join('/proc/self/fd', descriptor));
      return path.startsWith(server.root) ? [path] : [];
    } catch {
      // The one by which the list was read.
      return [];
    }
  });
}

test('a client that goes away in the middle of a download leaves no open file', async () => {
  // A file that nobody closed is closed when it is found to be garbage, with a warning.
  const forgotten: string[] = [];
  const onWarning = ({ message }: Error): void => {
    if (message.includes('garbage collection')) forgotten.push(message);
  };
  process.on('warning', onWarning);
  for (let i = 0; i < 10; i++) {
    const away = new AbortController();
    const response = await server.admin.fetch('GET', at('big'), { signal: away.signal });
    expect(response.status).toBe(200);
    expect(openFiles()).not.toEqual([]);
    away.abort();
  }
  await eventually(() => {
    expect(openFiles()).toEqual([]);
  });
  process.off('warning', onWarning);
  expect(forgotten).toEqual([]);
});

/** A provider whose files are not as long as they say. */
function lying(announced: number | null, content: string): Promise<TestServer> {
  return startServer(store, {
    wrap: (provider) => {
      provider.readFile = async (_ref, path) => ({
        path,
        size: announced,
        version: null,
        content: (async function* () {
          yield Buffer.from(content);
        })(),
      });
      return provider;
    },
  });
}

describe('a file that changes while it is read', () => {
  test('is cut where it was when it grows', async () => {
    await using growing = await lying(3, 'abcdef');
    const path = `${workspaces}/${await growing.newWorkspace()}/files?path=a`;
    expect(await (await growing.admin.fetch('GET', path)).text()).toBe('abc');
    await growing.admin.json(200, 'GET', workspaces);
  });

  test('breaks the transfer when it shrinks', async () => {
    await using shrinking = await lying(100, 'abc');
    const path = `${workspaces}/${await shrinking.newWorkspace()}/files?path=a`;
    const response = await shrinking.admin.fetch('GET', path);
    await expect(response.text()).rejects.toThrow();
    const failure = shrinking.recorded.entries().find(({ msg }) => msg === 'request failed');
    expect(failure).toMatchObject({ code: 'provider_failed' });
    await shrinking.admin.json(200, 'GET', workspaces);
  });

  test('needs no length where only reading tells it', async () => {
    await using unknown = await lying(null, 'abc');
    const path = `${workspaces}/${await unknown.newWorkspace()}/files?path=/proc/x`;
    const response = await unknown.admin.fetch('GET', path);
    expect(response.headers.get('content-length')).toBeNull();
    expect(await response.text()).toBe('abc');
  });
});

test('an upload that the sandbox stops taking is answered, not cut off', async () => {
  await using full = await startServer(store, {
    // What it goes on to send is thrown away for a second, which must not pass on a loaded machine.
    clock: new FakeClock(),
    wrap: (provider) => {
      const writeFile = provider.writeFile.bind(provider);
      provider.writeFile = async (ref, path, content, signal) => {
        for await (const chunk of content) {
          if (chunk.length > 0) break;
        }
        return writeFile(ref, `${'x'.repeat(300)}/${path}`, content, signal);
      };
      return provider;
    },
  });
  const path = `${workspaces}/${await full.newWorkspace()}/files?path=a`;
  const error = await full.admin.error(422, 'PUT', path, { body: 'x'.repeat(8_000_000) });
  expect(error.code).toBe('invalid_value');
});
