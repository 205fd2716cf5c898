import { spawn } from 'node:child_process';

export const root = new URL('..', import.meta.url).pathname;

/** A package's own script, run by the Node.js that runs us. */
export function packageScript(path: string, ...args: string[]): [string, ...string[]] {
  return [process.execPath, `${root}node_modules/${path}`, ...args];
}

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets the output instead of our own terminal. */
  readonly onOutput?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** Runs a command to its end; 128 and more when a signal ended it. An abort ends it with SIGTERM. */
export async function runChild(
  argv: readonly [string, ...string[]],
  options: ChildOptions = {},
): Promise<number> {
  const { onOutput, signal } = options;
  const piped = onOutput ? 'pipe' : 'inherit';
  const child = spawn(argv[0], argv.slice(1), {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', piped, piped],
  });
  const stop = (): void => {
    child.kill('SIGTERM');
  };
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => onOutput?.(text));
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('close', (code) => {
    resolve(code ?? 128);
  });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Aborts on the first Ctrl-C or SIGTERM; a second one ends the process at once. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      controller.abort(new Error(`stopped by ${name}`));
    });
  }
  return controller.signal;
}
