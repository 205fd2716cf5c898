import type { Duplex } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type { FileContent, ReadOptions, WriteOptions, WrittenFile } from '../../domain/provider.ts';
import { guestAdopt } from './adopt.ts';
import { toEmergentError } from './errors.ts';
import { BulkLink } from './bulk.ts';
import { GuestFiles } from './files.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';
import { Process } from './gen/process/process_pb.ts';
import { sessionSend } from './http.ts';
import { guestIdle } from './idle.ts';
import type { GuestIdle } from './idle.ts';
import { GuestIncidents } from './incidents.ts';
import type { GuestIncident } from './incidents.ts';
import { GuestLink } from './link.ts';
import type { GuestLinkOptions } from './link.ts';
import { OpenReaders } from './open-readers.ts';
import { startProcess } from './process.ts';
import type { GuestProcessOptions } from './process.ts';
import { GuestProcesses } from './processes.ts';
import { guestStats } from './stats.ts';
import type { GuestStats } from './stats.ts';
import { endAll, terminate } from './terminate.ts';
import type { TerminateOptions } from './terminate.ts';
import { guestTransport } from './transport.ts';
import { openTunnel } from './tunnel.ts';

const readyDeadlineMs = 20_000;

/** A sandbox that runs our agent, seen from the host: all a provider must add is how to dial it. */
export class GuestSandbox {
  readonly processes: GuestProcesses;
  readonly #link: GuestLink;
  readonly #bulk: BulkLink;
  readonly #transport: Transport;
  /** For requests that only look at the sandbox. */
  readonly #looking: Transport;
  readonly #files: GuestFiles;
  readonly #readers = new OpenReaders();
  readonly #commands: GuestProcessOptions;
  readonly #ending: TerminateOptions;

  /** `onIncident` hears of what happens in the sandbox by itself. */
  constructor(
    options: GuestLinkOptions,
    onIncident: (incident: GuestIncident) => void = () => undefined,
  ) {
    this.#link = new GuestLink(options, () => {
      void incidents.listen();
    });
    const incidents = new GuestIncidents(
      sessionSend({ request: (...request) => this.#link.requestIfOpen(...request) }),
      onIncident,
    );
    this.#bulk = new BulkLink(this.#link, options);
    const send = sessionSend(this.#link);
    this.#transport = guestTransport(send);
    this.#looking = guestTransport(
      sessionSend({ request: (...request) => this.#link.look(...request) }),
    );
    this.#files = new GuestFiles(send, this.#bulk);
    this.#commands = {
      client: createClient(Process, this.#transport),
      clock: options.clock,
      readers: this.#readers,
    };
    this.#ending = { link: this.#link, transport: this.#transport, readers: this.#readers };
    this.processes = new GuestProcesses(this.#commands);
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
    return startProcess(this.#commands, request, signal);
  }

  /** Commands that are started from now on have this environment, in place of what was given before. */
  adopt(env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    return guestAdopt(this.#transport, env, signal);
  }

  /** A byte stream to a port on the sandbox's loopback address; `signal` bounds the opening only. */
  dial(port: number, signal: AbortSignal): Promise<Duplex> {
    return openTunnel(this.#transport, port, signal);
  }

  stats(signal: AbortSignal): Promise<GuestStats> {
    return guestStats(this.#looking, signal);
  }

  idle(signal: AbortSignal): Promise<GuestIdle> {
    return guestIdle(this.#looking, signal);
  }

  /**
   * Ends every process in the sandbox, by SIGTERM and after `graceMs` by SIGKILL, and takes no more commands. When
   * it resolves, whoever read a command's output through this has it all, with its exit. Fails within seconds when
   * the sandbox cannot be reached.
   */
  terminate(graceMs: number, signal: AbortSignal): Promise<void> {
    return terminate(this.#ending, graceMs, signal);
  }

  /** The same, and the sandbox takes commands again. */
  endAll(graceMs: number, signal: AbortSignal): Promise<void> {
    return endAll(this.#ending, graceMs, signal);
  }

  readFile(path: string, signal: AbortSignal, options?: ReadOptions): Promise<FileContent> {
    return this.#files.read(path, signal, options);
  }

  writeFile(
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options?: WriteOptions,
  ): Promise<WrittenFile> {
    return this.#files.write(path, content, signal, options);
  }

  close(): void {
    this.#link.close();
    this.#bulk.close();
  }
}
