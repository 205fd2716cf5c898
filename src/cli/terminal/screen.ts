import { spawnSync } from 'node:child_process';
import type { ScreenSize } from '../http/terminal-client.ts';
import { printable } from './output.ts';

const sttyMs = 2_000;

/** Where there is no screen. */
const usual: ScreenSize = { cols: 80, rows: 24 };

export function screenSize(): ScreenSize {
  const { columns, rows } = process.stdout;
  // A terminal that nobody has told its size says 0.
  return process.stdout.isTTY && columns > 0 && rows > 0 ? { cols: columns, rows } : usual;
}

export function onResize(listener: () => void): Disposable {
  process.stdout.on('resize', listener);
  return {
    [Symbol.dispose]() {
      process.stdout.off('resize', listener);
    },
  };
}

/**
 * Every key goes to the program, also those that mean something to the terminal, and what the program writes goes to
 * the screen as it is. Disposing brings the terminal back; Node does the same when the process exits without.
 */
export function rawKeys(): Disposable {
  const { stdin } = process;
  if (!stdin.isTTY) return { [Symbol.dispose]: () => undefined };
  stdin.setRawMode(true);
  // Node's raw mode makes two characters of each line feed, which to a full-screen program means one line down.
  // Where there is no stty, that is all that is lost.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'], timeout: sttyMs });
  return {
    [Symbol.dispose]() {
      stdin.setRawMode(false);
    },
  };
}

/** For the person in front of a screen that a program may be using: the cursor may be anywhere in its line. */
export function noteOnScreen(text: string): void {
  const end = process.stdin.isRaw ? '\r\n' : '\n';
  process.stderr.write(`${end}${printable(text)}${end}`);
}
