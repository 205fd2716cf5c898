import { randomUUID } from 'node:crypto';
import type {
  AttachOptions,
  ExecRequest,
  OutputEvent,
  ProcessInfo,
} from '../../src/domain/exec.ts';
import type { SandboxProcesses } from '../../src/domain/sandbox-processes.ts';
import type { Bench } from './provider.ts';
import { soon } from './sandbox.ts';

export const whole: AttachOptions = { offset: 0, follow: true };

/** The processes of one sandbox, with the calls that tests make again and again. */
export class Table {
  readonly processes: SandboxProcesses;
  readonly #spec: () => { readonly workspaceId: string; readonly sandboxName: string };

  constructor(processes: SandboxProcesses, bench: Bench, spec = bench.shared().spec) {
    this.processes = processes;
    this.#spec = () => spec;
  }

  start(
    argv: ExecRequest['argv'],
    id: string = randomUUID(),
    rest: Omit<ExecRequest, 'argv' | 'id'> = {},
  ): Promise<ProcessInfo> {
    return this.processes.start(this.#spec(), { argv, id, ...rest }, soon());
  }

  /** With a standard input. */
  talk(argv: ExecRequest['argv']): Promise<ProcessInfo> {
    return this.start(argv, randomUUID(), { stdin: true });
  }

  say(id: string, data: string | Uint8Array): Promise<void> {
    return this.processes.input(this.#spec(), id, Buffer.from(data), soon());
  }

  closeInput(id: string): Promise<void> {
    return this.processes.closeInput(this.#spec(), id, soon());
  }

  endAll(graceMs: number): Promise<void> {
    return this.processes.endAll(this.#spec(), graceMs, soon());
  }

  sh(script: string): Promise<ProcessInfo> {
    return this.start(['sh', '-c', script]);
  }

  list(): Promise<readonly ProcessInfo[]> {
    return this.processes.list(this.#spec(), soon());
  }

  async find(id: string): Promise<ProcessInfo | undefined> {
    return (await this.list()).find((one) => one.id === id);
  }

  attach(
    id: string,
    options: AttachOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<OutputEvent>> {
    return this.processes.attach(this.#spec(), id, options, signal);
  }

  async read(id: string, options: AttachOptions): Promise<OutputEvent[]> {
    return Array.fromAsync(await this.attach(id, options, soon()));
  }

  /** Follows its standard output until the text has come; without one, until it has ended. */
  async hear(id: string, text: string | undefined): Promise<void> {
    let heard = '';
    for await (const event of await this.attach(id, whole, soon())) {
      if (event.type === 'stdout') heard += Buffer.from(event.data).toString();
      if (text !== undefined && heard.includes(text)) return;
    }
    if (text !== undefined) throw new Error(`it ended before it said "${text}": ${heard}`);
  }

  signal(id: string, name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    return this.processes.signal(this.#spec(), id, name, soon());
  }
}

export function textOf(events: readonly OutputEvent[]): string {
  const data = events.flatMap((event) => ('data' in event ? [event.data] : []));
  return Buffer.concat(data).toString();
}
