import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough, pipeline } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { EmergentError } from '../../../src/domain/errors.ts';
import { hashSecret } from '../../../src/domain/token.ts';
import type { Dial } from '../../../src/providers/guest/dial.ts';
import { testHost } from '../../support/host.ts';

/** One way to the agent, which the test can break. */
export class Bridge {
  /** The host's end of it. */
  readonly stream: Duplex;
  /** Its process has ended and the host has noticed. */
  readonly closed: Promise<unknown>;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  // They take a byte only when it can go on, so a bridge that hangs leaves writes pending.
  readonly #up = new PassThrough({ highWaterMark: 1 });
  readonly #down = new PassThrough({ highWaterMark: 1 });

  constructor(process: ChildProcessByStdio<Writable, Readable, null>) {
    this.#process = process;
    pipeline(this.#up, process.stdin, () => undefined);
    pipeline(process.stdout, this.#down, () => undefined);
    this.stream = Duplex.from({ readable: this.#down, writable: this.#up });
    const hungUp = Promise.withResolvers<void>();
    this.stream.once('close', hungUp.resolve);
    this.closed = Promise.all([once(process, 'close'), hungUp.promise]);
  }

  /** Nothing passes any more, and nobody is told. */
  hang(): void {
    this.#up.unpipe();
    this.#process.stdout.unpipe();
  }

  /** What goes up arrives; what should come down waits until the returned function is called. */
  holdAnswers(): () => void {
    this.#process.stdout.unpipe();
    return () => {
      this.#process.stdout.pipe(this.#down);
    };
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

let program: Promise<string> | undefined;
async function builtAgent(): Promise<string> {
  const { agentPaths } = await testHost();
  const path = agentPaths?.[arch() === 'arm64' ? 'arm64' : 'amd64'];
  if (path === undefined) throw new Error('the guest agent is not built');
  return path;
}

/**
 * The real guest agent as a process of this host, in a network namespace of its own: its socket belongs to the
 * namespace, so every test can have one. `dial` reaches it as a provider does, through `agent bridge`.
 */
export class TestAgent implements AsyncDisposable {
  readonly token = 'a test token';
  /** Where commands start and the test's files are; the same path inside and outside. */
  readonly workdir: string;
  /** Every bridge that was opened, the newest last. */
  readonly bridges: Bridge[] = [];
  readonly #path: string;
  readonly #process: ChildProcessByStdio<null, Readable, null>;
  readonly #ownWorkdir: boolean;
  readonly #exited: Promise<unknown>;

  private constructor(path: string, workdir: string, ownWorkdir: boolean) {
    this.#path = path;
    this.workdir = workdir;
    this.#ownWorkdir = ownWorkdir;
    // It speaks when it is in its namespace: until then it is `unshare`, still in that of the tests.
    const script = 'ip link set lo up && echo there && exec "$0" init >/dev/null';
    this.#process = spawn('unshare', ['--net', 'sh', '-c', script, path], {
      env: {
        PATH: process.env['PATH'],
        EMERGENT_TOKEN_SHA256: hashSecret(this.token),
        EMERGENT_WORKDIR: workdir,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#exited = once(this.#process, 'exit');
  }

  /** A working directory that is given stays when the agent is disposed of. */
  static async start(workdir?: string): Promise<TestAgent> {
    const path = await (program ??= builtAgent());
    const directory = workdir ?? (await mkdtemp(join(tmpdir(), 'guest-link-')));
    const agent = new TestAgent(path, directory, workdir === undefined);
    await once(agent.#process.stdout, 'data');
    return agent;
  }

  readonly dial: Dial = async () => {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) {
      throw new EmergentError('sandbox_unreachable', 'the agent does not run');
    }
    const bridge = new Bridge(
      spawn('nsenter', [`--net=${this.#namespace}`, this.#path, 'bridge'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    this.bridges.push(bridge);
    return bridge.stream;
  };

  get bridge(): Bridge {
    const newest = this.bridges.at(-1);
    if (!newest) throw new Error('no bridge was opened');
    return newest;
  }

  /** As a crash ends it. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#exited;
    for (const bridge of this.bridges) bridge.kill();
    if (this.#ownWorkdir) await rm(this.workdir, { recursive: true, force: true });
  }

  get #namespace(): string {
    return `/proc/${String(this.#process.pid)}/ns/net`;
  }
}
