import { randomUUID } from 'node:crypto';
import type { ExecEvent, ExecExit, ExecProcess, ExecRequest } from '../../src/domain/exec.ts';
import type { SandboxSpec, WorkspaceProvider, WrittenFile } from '../../src/domain/provider.ts';

export interface RunResult extends ExecExit {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** No call of a provider may take longer than this in a test. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(45_000);
}

export function newSpec(image: string, env: Readonly<Record<string, string>> = {}): SandboxSpec {
  const workspaceId = randomUUID();
  return {
    workspaceId,
    sandboxName: `conformance-${workspaceId}`,
    containerType: 'agent_workspace',
    image,
    limits: { cpu: 1, memoryBytes: 512 * 2 ** 20, diskBytes: 2 ** 30 },
    network: 'isolated',
    env,
  };
}

/** One sandbox of the provider under test, with the calls that tests make again and again. */
export class TestSandbox implements AsyncDisposable {
  readonly provider: WorkspaceProvider;
  readonly spec: SandboxSpec;

  constructor(provider: WorkspaceProvider, spec: SandboxSpec) {
    this.provider = provider;
    this.spec = spec;
  }

  start(argv: ExecRequest['argv'], rest: Omit<ExecRequest, 'argv'> = {}): Promise<ExecProcess> {
    return this.provider.exec(this.spec, { argv, ...rest }, soon());
  }

  async run(argv: ExecRequest['argv'], rest: Omit<ExecRequest, 'argv'> = {}): Promise<RunResult> {
    return collect((await this.start(argv, rest)).events);
  }

  /** A shell script with its positional parameters. */
  sh(script: string, ...parameters: string[]): Promise<RunResult> {
    return this.run(['sh', '-c', script, 'sh', ...parameters]);
  }

  async read(path: string): Promise<Buffer> {
    const file = await this.provider.readFile(this.spec, path, soon());
    const content = await bytesOf(file.content);
    if (content.length !== file.size) throw new Error(`${path}: wrong size ${String(file.size)}`);
    return content;
  }

  write(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<WrittenFile> {
    const chunks = content instanceof Uint8Array ? chunksOf(content) : content;
    return this.provider.writeFile(this.spec, path, chunks, soon());
  }

  destroy(): Promise<void> {
    return this.provider.destroy(this.spec, soon());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }
}

/** Reads a command to its end, and holds it to the contract: exactly one exit, and nothing after it. */
export async function collect(events: AsyncIterable<ExecEvent>): Promise<RunResult> {
  const output = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  let exit: ExecExit | undefined;
  for await (const event of events) {
    if (exit) throw new Error(`${event.type} after the exit`);
    if (event.type === 'exit') exit = { exitCode: event.exitCode, signal: event.signal };
    else output[event.type].push(event.data);
  }
  if (!exit) throw new Error('the output ended without an exit');
  return { stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr), ...exit };
}

/** A running command whose output is read in steps: up to a text, then to the end. */
export class Conversation {
  readonly process: ExecProcess;
  readonly #events: AsyncIterator<ExecEvent>;
  #heard = '';

  constructor(process: ExecProcess) {
    this.process = process;
    this.#events = process.events[Symbol.asyncIterator]();
  }

  /** The next line of standard output. */
  line(): Promise<string> {
    return this.hear('\n');
  }

  /** Reads standard output up to the text, and returns what led up to it. */
  async hear(text: string): Promise<string> {
    while (!this.#heard.includes(text)) {
      const event = await this.#events.next();
      if (event.done === true || event.value.type === 'exit') {
        throw new Error(`the command ended before it said "${text}": ${this.#heard}`);
      }
      if (event.value.type === 'stdout') this.#heard += Buffer.from(event.value.data).toString();
    }
    const at = this.#heard.indexOf(text);
    const before = this.#heard.slice(0, at);
    this.#heard = this.#heard.slice(at + text.length);
    return before;
  }

  say(text: string): Promise<void> {
    return this.process.writeStdin(Buffer.from(text));
  }

  end(): Promise<RunResult> {
    return collect({ [Symbol.asyncIterator]: () => this.#events });
  }
}

export async function bytesOf(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(content));
}

export async function* chunksOf(content: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}
