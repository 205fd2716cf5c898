import { EmergentError } from '../../../../../src/domain/errors.ts';
import type { ExecExit, OutputEvent, ProcessInfo } from '../../../../../src/domain/exec.ts';
import type { SandboxProcesses } from '../../../../../src/domain/sandbox-processes.ts';
import type { Clock } from '../../../../../src/base/clock.ts';

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** One program: it hears messages and writes output, as its test has it. */
export class ScriptedProgram {
  readonly id: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly heard: Message[] = [];
  readonly startedAt: Date;
  exit: ExecExit | undefined;
  lost = false;
  readonly #events: OutputEvent[] = [];
  readonly #readers = new Set<() => void>();
  #bytes = 0;

  constructor(id: string, argv: readonly string[], env: Record<string, string>, startedAt: Date) {
    this.id = id;
    this.argv = argv;
    this.env = env;
    this.startedAt = startedAt;
  }

  get outputBytes(): number {
    return this.#bytes;
  }

  say(stream: 'stdout' | 'stderr', text: string): void {
    const data = Buffer.from(text);
    this.#bytes += data.length;
    this.#tell({ type: stream, data, offset: this.#bytes });
  }

  answer(id: number | string, result: object): void {
    this.say('stdout', `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  }

  introduceItself(id: number | string, name = 'scripted'): void {
    this.answer(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name, version: '1' },
    });
  }

  end(exitCode: number, signal: string | null = null): void {
    if (this.exit) return;
    this.exit = { exitCode, signal };
    this.#tell({ type: 'exit', exitCode, signal });
  }

  /** Its sandbox is gone, and it with that. */
  vanish(): void {
    this.lost = true;
    this.#wake();
  }

  async *read(offset: number, follow: boolean, signal: AbortSignal): AsyncGenerator<OutputEvent> {
    let next = 0;
    for (;;) {
      signal.throwIfAborted();
      const event = this.#events[next];
      if (event) {
        next += 1;
        if (event.type === 'exit' || event.offset > offset) yield event;
        if (event.type === 'exit') return;
      } else if (this.lost) {
        throw new EmergentError('sandbox_unreachable', 'the sandbox is gone');
      } else if (!follow) {
        return;
      } else {
        await this.#more(signal);
      }
    }
  }

  #tell(event: OutputEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#readers) wake();
  }

  async #more(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#readers.add(resolve);
    signal.addEventListener('abort', () => {
      resolve();
    });
    await promise;
    this.#readers.delete(resolve);
  }
}

/** What becomes of a message that a program hears. */
export type Script = (message: Message, program: ScriptedProgram) => void;

/** Introduces itself and answers pings. */
export const wellBehaved: Script = ({ id, method }, program) => {
  if (id === undefined) return;
  if (method === 'initialize') program.introduceItself(id);
  else program.answer(id, {});
};

/** The processes of a sandbox in which scripted programs run. */
export class ScriptedPrograms implements SandboxProcesses {
  readonly started: ScriptedProgram[] = [];
  readonly endedAll: number[] = [];
  script: Script = wellBehaved;
  /** Instead of a start. */
  startProblem: Error | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get last(): ScriptedProgram {
    const last = this.started.at(-1);
    if (!last) throw new Error('nothing was started');
    return last;
  }

  readonly start: SandboxProcesses['start'] = async (_ref, { id, argv, env = {} }) => {
    if (this.startProblem) throw this.startProblem;
    const program = new ScriptedProgram(id, argv, env, this.#clock.now());
    this.started.push(program);
    return infoOf(program);
  };

  readonly list: SandboxProcesses['list'] = async () =>
    this.started.filter(({ lost }) => !lost).map((program) => infoOf(program));

  readonly attach: SandboxProcesses['attach'] = async (_ref, id, { offset, follow }, signal) =>
    this.#find(id).read(offset, follow, signal);

  readonly input: SandboxProcesses['input'] = async (_ref, id, data) => {
    const program = this.#find(id);
    for (const line of Buffer.from(data).toString().split('\n')) {
      if (line === '') continue;
      const message = JSON.parse(line) as Message;
      program.heard.push(message);
      this.script(message, program);
    }
  };

  readonly endAll: SandboxProcesses['endAll'] = async (_ref, graceMs) => {
    this.endedAll.push(graceMs);
    for (const program of this.started) program.end(143, 'SIGTERM');
  };

  readonly signal: SandboxProcesses['signal'] = async () => undefined;
  readonly closeInput: SandboxProcesses['closeInput'] = async () => undefined;
  readonly resize: SandboxProcesses['resize'] = async () => undefined;

  #find(id: string): ScriptedProgram {
    const program = this.started.find((each) => each.id === id);
    if (program && !program.lost) return program;
    throw new EmergentError('process_not_found', `no process ${id}`);
  }
}

function infoOf(program: ScriptedProgram): ProcessInfo {
  const { id, argv, startedAt, outputBytes } = program;
  const exit = program.exit ?? null;
  const endedAt = exit ? startedAt : null;
  return {
    ...{ id, argv, startedAt, outputBytes, exit, endedAt },
    ...{ pid: 1, detached: true, droppedBytes: 0 },
  };
}
