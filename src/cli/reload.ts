import { reasonOf } from '../base/reason.ts';
import { ConfigError, changesBetween, withLiveSettings } from '../config.ts';
import type { Config, Configuration } from '../config.ts';

export interface ReloadParts {
  /** Throws a ConfigError where something is wrong. */
  readonly read: () => Promise<Configuration>;
  readonly apply: (config: Config) => Promise<void>;
  /** Tells whoever looks after the server. */
  readonly tell: (text: string) => void;
}

/**
 * Reads the configuration again when asked, one at a time; whoever asks meanwhile gets one more reading after it. A
 * configuration with something wrong in it changes nothing.
 */
export class Reload {
  readonly #parts: ReloadParts;
  #running: Configuration;
  #turns: Promise<void> | undefined;
  #again = false;

  constructor(running: Configuration, parts: ReloadParts) {
    this.#running = running;
    this.#parts = parts;
  }

  /** Resolves when what is written now has been read and, if it can be, applied. */
  async request(): Promise<void> {
    this.#again = true;
    this.#turns ??= this.#turn().finally(() => {
      this.#turns = undefined;
    });
    await this.#turns;
  }

  async #turn(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#reload();
      } catch (error) {
        const problems = error instanceof ConfigError ? error.problems : [reasonOf(error)];
        this.#parts.tell(`configuration not applied: ${problems.join('; ')}`);
      }
    }
  }

  async #reload(): Promise<void> {
    const { read, apply, tell } = this.#parts;
    const next = await read();
    const { live, needRestart } = changesBetween(this.#running, next);
    if (live.length > 0) {
      const changed = withLiveSettings(this.#running, next);
      await apply(changed.config);
      this.#running = changed;
    }
    const { path, found } = next.file;
    const from = found ? path : `there is no ${path}`;
    tell(
      live.length > 0
        ? `configuration applied (${from}): ${live.join(', ')}`
        : `configuration read again (${from}): nothing to apply`,
    );
    for (const name of needRestart) tell(`${name} changed: needs a restart`);
    for (const line of overriddenLines(next)) tell(line);
  }
}

/** A line in the file that has no effect would be wondered about. */
export function overriddenLines({ file }: Configuration): readonly string[] {
  return file.overridden.map((name) => `${name} in ${file.path} is not used: the environment wins`);
}
