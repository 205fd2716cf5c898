import type { FreezerLook } from './container-freezer.ts';
import type { Freezer } from './freezer.ts';

/** How the host is asked for the freezer of one sandbox; undefined where no container of it runs. */
export type FindFreezer = () => Promise<FreezerLook | undefined>;

/**
 * The freezer of one sandbox: looked for when it is first needed, and again when another container has come into the
 * place of the one it was of.
 */
export class KnownFreezer {
  readonly #find: FindFreezer;
  #look: FreezerLook | undefined;
  #finding: Promise<void> | undefined;
  #started = false;
  #sought = false;

  constructor(find: FindFreezer) {
    this.#find = find;
  }

  /** A container was started just now: it is thawed, so its freezer need not be looked for to know that. */
  started(): void {
    this.forget();
    this.#started = true;
  }

  forget(): void {
    this.#look = undefined;
    this.#started = false;
    this.#sought = false;
  }

  /** Where the host cannot freeze it: why. */
  get absence(): string | undefined {
    return this.#look?.state === 'absent' ? this.#look.why : undefined;
  }

  /** As far as it is known. */
  get freezer(): Freezer | undefined {
    return this.#look?.state === 'found' ? this.#look.freezer : undefined;
  }

  /** Undefined where there is none, or the sandbox does not run. */
  async get(): Promise<Freezer | undefined> {
    if (this.absence !== undefined) return undefined;
    if (this.freezer === undefined || this.freezer.state() === 'gone') await this.#seek();
    return this.freezer;
  }

  async thaw(): Promise<void> {
    if (this.absence !== undefined || this.freezer?.thaw() === true) return;
    if (this.freezer === undefined && this.#started) return;
    await this.#seek();
    this.freezer?.thaw();
  }

  /** As `get`, but it looks only once: for whoever calls it again and again. */
  async sought(): Promise<Freezer | undefined> {
    if (this.#look === undefined && !this.#sought) await this.#seek();
    return this.freezer;
  }

  /** From now on nobody takes it for thawed without looking. */
  freeze(freezer: Freezer): boolean {
    this.#started = false;
    return freezer.freeze();
  }

  /** Shared by all who wait for it, so it depends on nobody's signal. */
  #seek(): Promise<void> {
    this.#finding ??= this.#find()
      .then((look) => {
        this.#look = look;
      })
      .finally(() => {
        this.#sought = true;
        this.#finding = undefined;
      });
    return this.#finding;
  }
}
