import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

const types = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  list: 'application/vnd.docker.distribution.manifest.list.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
} as const;

/** As images name this machine's. */
const ours = process.arch === 'arm64' ? 'arm64' : 'amd64';

export interface RegistryImage {
  /** Archives, lowest first. */
  readonly layers: readonly Uint8Array[];
  readonly architecture?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  /** The registry has it only in a list, for this architecture. */
  readonly onlyListed?: boolean;
}

interface Blob {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The answer to "do you speak this protocol?". */
const greeting: Blob = { type: 'application/json', bytes: Buffer.from('{}') };

/** What the registry does with a request for a layer, in place of answering it. */
export type LayerFault = (
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
) => void;

/**
 * A registry on loopback, as far as an engine's pull needs one: the Docker Registry HTTP API v2, without tokens.
 * Engines trust 127.0.0.0/8 without TLS.
 */
export class TestRegistry implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    this.#answer(request, response);
  });
  readonly #blobs = new Map<string, Blob>();
  readonly #manifests = new Map<string, Blob>();
  /** Paths in the order in which they were asked for. */
  readonly requests: string[] = [];
  /** Everybody is refused. */
  closed = false;
  layerFault: LayerFault | undefined;

  static async start(): Promise<TestRegistry> {
    const registry = new TestRegistry();
    const { promise, resolve } = Promise.withResolvers<void>();
    registry.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return registry;
  }

  get host(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** A new repository with the image as `latest`; answers with its reference. */
  add({ layers, architecture = ours, config = {}, onlyListed = false }: RegistryImage): string {
    const name = `test/${randomUUID()}`;
    const archives = layers.map((layer) => Buffer.from(layer));
    const settings = {
      ...{ architecture, os: 'linux', config },
      rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
    };
    const entry = (type: string, bytes: Buffer): object => ({
      ...{ mediaType: type, size: bytes.length, digest: this.#keep(type, bytes) },
    });
    const manifest = json({
      ...{ schemaVersion: 2, mediaType: types.manifest },
      config: entry(types.config, json(settings)),
      layers: archives.map((archive) => entry(types.layer, gzipSync(archive))),
    });
    const digest = digestOf(manifest);
    this.#manifests.set(`${name}:${digest}`, { type: types.manifest, bytes: manifest });
    const platform = { architecture, os: 'linux' };
    const described = { mediaType: types.manifest, size: manifest.length, digest, platform };
    const list = json({ schemaVersion: 2, mediaType: types.list, manifests: [described] });
    this.#manifests.set(`${name}:${digestOf(list)}`, { type: types.list, bytes: list });
    this.#manifests.set(
      `${name}:latest`,
      onlyListed ? { type: types.list, bytes: list } : { type: types.manifest, bytes: manifest },
    );
    return `${this.host}/${name}:latest`;
  }

  #keep(type: string, bytes: Buffer): string {
    const digest = digestOf(bytes);
    this.#blobs.set(digest, { type, bytes });
    return digest;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '/';
    this.requests.push(url);
    const [, name = '', kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const found = {
      manifests: this.#manifests.get(`${name}:${reference}`),
      blobs: this.#blobs.get(reference),
    };
    const blob = kind === undefined ? greeting : found[kind as keyof typeof found];
    if (this.closed) refuse(response, 401, 'UNAUTHORIZED', 'authentication required');
    else if (!blob) refuse(response, 404, 'MANIFEST_UNKNOWN', 'manifest unknown');
    else if (blob.type === types.layer && this.layerFault)
      this.layerFault(request, response, blob.bytes);
    else send(request, response, blob);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => {
      resolve();
    });
    await promise;
  }
}

function send(request: IncomingMessage, response: ServerResponse, { type, bytes }: Blob): void {
  response.writeHead(200, {
    'content-type': type,
    'content-length': bytes.length,
    'docker-content-digest': digestOf(bytes),
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(json({ errors: [{ code, message }] }));
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
