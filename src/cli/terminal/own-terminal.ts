import { isatty } from 'node:tty';

/** The terminal that this process was started at, if there was one. */
export class OwnTerminal {
  readonly #descriptors = [0, 1, 2].filter((descriptor) => isatty(descriptor));

  get startedAtOne(): boolean {
    return this.#descriptors.length > 0;
  }

  /** Its window was closed, or the connection that it came by has ended. */
  isGone(): boolean {
    return this.#descriptors.some((descriptor) => !isatty(descriptor));
  }
}
