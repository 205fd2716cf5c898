import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type { FileContent, FileInfo } from '../../domain/provider.ts';
import { toEmergentError } from './errors.ts';
import { BulkLink } from './bulk.ts';
import { GuestFiles } from './files.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';
import { sessionSend } from './http.ts';
import { GuestLink } from './link.ts';
import type { GuestLinkOptions } from './link.ts';
import { startProcess } from './process.ts';
import { guestTransport } from './transport.ts';

const readyDeadlineMs = 20_000;

/** A sandbox that runs our agent, seen from the host: all a provider must add is how to dial it. */
export class GuestSandbox {
  readonly #link: GuestLink;
  readonly #bulk: BulkLink;
  readonly #transport: Transport;
  readonly #files: GuestFiles;
  readonly #clock: Clock;

  constructor(options: GuestLinkOptions) {
    this.#link = new GuestLink(options);
    this.#bulk = new BulkLink(this.#link, options);
    const send = sessionSend(this.#link);
    this.#transport = guestTransport(send);
    this.#files = new GuestFiles(send, this.#bulk);
    this.#clock = options.clock;
  }

  /** Resolves when the agent has said, by itself, that it takes commands. */
  async ready(signal: AbortSignal): Promise<void> {
    const listening = new AbortController();
    try {
      await withDeadline(
        'waiting for the sandbox agent',
        readyDeadlineMs,
        async () => {
          const options = { signal: listening.signal };
          for await (const _ of createClient(Agent, this.#transport).ready({}, options)) return;
          throw new EmergentError('sandbox_unreachable', 'the agent stopped before it was ready');
        },
        signal,
      );
    } catch (error) {
      throw toEmergentError(error, 'waiting for the sandbox agent');
    } finally {
      listening.abort();
    }
  }

  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecProcess> {
    return startProcess(this.#transport, request, this.#clock, signal);
  }

  readFile(path: string, signal: AbortSignal): Promise<FileContent> {
    return this.#files.read(path, signal);
  }

  writeFile(
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    return this.#files.write(path, content, signal);
  }

  close(): void {
    this.#link.close();
    this.#bulk.close();
  }
}
