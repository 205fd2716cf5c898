import { write } from './output.ts';
import { rawKeys, screenSize } from './screen.ts';

/** The other screen of the terminal, without a cursor and without wrapping: what was there before comes back. */
const enter = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const leave = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const home = '\x1b[H';
const clearLine = '\x1b[K';
const clearBelow = '\x1b[J';

/** A screen to paint again and again. Disposing of it brings the terminal back as it was. */
export class FullScreen implements AsyncDisposable {
  readonly #keys: Disposable;

  private constructor(keys: Disposable) {
    this.#keys = keys;
  }

  static async open(): Promise<FullScreen> {
    const screen = new FullScreen(rawKeys());
    await write(process.stdout, enter);
    return screen;
  }

  /** What does not fit below is left out. Nothing is cleared before it is painted over, so nothing flickers. */
  async paint(lines: readonly string[]): Promise<void> {
    const shown = lines.slice(0, screenSize().rows).map((line) => `${line}${clearLine}`);
    await write(process.stdout, `${home}${shown.join('\r\n')}${clearBelow}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await write(process.stdout, leave);
    this.#keys[Symbol.dispose]();
  }
}
