import type { Duplex } from 'node:stream';
import { EmergentError } from '../../domain/errors.ts';
import type { McpTransport } from '../../domain/mcp-config.ts';
import type { SandboxRef, WorkspaceProvider } from '../../domain/provider.ts';
import type { McpHttpTarget } from './operations.ts';

/** A server that serves HTTP itself: its port is reached through its sandbox's agent, and by nobody else. */
export class HttpTarget implements McpHttpTarget {
  readonly path: string;
  readonly port: number;
  readonly #provider: WorkspaceProvider;
  readonly #ref: SandboxRef;

  constructor(
    provider: WorkspaceProvider,
    ref: SandboxRef,
    { path, port }: Extract<McpTransport, { kind: 'http' }>,
  ) {
    this.path = path;
    this.port = port;
    this.#provider = provider;
    this.#ref = ref;
  }

  async dial(signal: AbortSignal): Promise<Duplex> {
    const { name } = this.#provider;
    if (this.#provider.dial) return this.#provider.dial(this.#ref, this.port, signal);
    throw new EmergentError('unsupported', `${name} cannot reach ports in its sandboxes`);
  }
}
