import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '../../fixtures/engine-info');

export type RecordedInfo = Readonly<Record<string, unknown>> & {
  readonly KernelVersion: string;
  readonly Runtimes: Readonly<Record<string, unknown>> | null;
};

export async function recordedInfo(name: string): Promise<RecordedInfo> {
  return JSON.parse(await readFile(join(fixtures, `${name}.json`), 'utf8')) as RecordedInfo;
}

/** An engine that answers as one was recorded to, has every image, and does nothing else. */
export interface RecordedEngine extends AsyncDisposable {
  /** For DOCKER_HOST. */
  readonly host: string;
}

export async function recordedEngine(info: RecordedInfo): Promise<RecordedEngine> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const answers = { '/info': info, '/images/': { Id: 'sha256:0', Config: {} } };
    const found = Object.entries(answers).find(([prefix]) => path.includes(prefix));
    response.writeHead(found ? 200 : 500, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? found[1] : { message: `not recorded: ${path}` }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `tcp://127.0.0.1:${String(port)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
