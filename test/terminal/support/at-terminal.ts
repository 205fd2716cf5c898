import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');
const entry = join(root, 'src/cli/main.ts');

/** `emergent` in a terminal of its own, which `script`, a part of every Debian, makes and copies to us. */
export class AtTerminal {
  readonly ended: Promise<number | null>;
  readonly #child;
  readonly #news = new EventTarget();
  #over = false;
  shown = '';

  /** The terminal tells its name first, and after the command what state it was left in. */
  constructor(args: readonly string[], env: Readonly<Record<string, string>>) {
    const command = [process.execPath, entry, ...args].map((part) => `'${part}'`).join(' ');
    const line = `stty rows 33 cols 101; echo "at $(tty)."; ${command}; c=$?; stty -a; exit $c`;
    this.#child = spawn(
      'script',
      ['--quiet', '--return', '--flush', '--command', line, '/dev/null'],
      {
        env: {
          PATH: process.env['PATH'],
          HOME: '/nonexistent',
          SHELL: '/bin/sh',
          TERM: 'xterm',
          NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
          ...env,
        },
      },
    );
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdout.on('data', (data: Buffer) => {
      this.shown += data.toString();
      this.#news.dispatchEvent(new Event('news'));
    });
    this.ended = once(this.#child, 'close').then(([code]) => {
      this.#over = true;
      this.#news.dispatchEvent(new Event('news'));
      return code as number | null;
    });
  }

  get tty(): string {
    return /at (\/dev\/pts\/\d+)\./.exec(this.shown)?.[1] ?? '';
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async shows(text: string): Promise<void> {
    while (!this.shown.includes(text)) {
      if (this.#over) throw new Error(`ended without ${text}: ${this.shown}`);
      await once(this.#news, 'news');
    }
  }
}
