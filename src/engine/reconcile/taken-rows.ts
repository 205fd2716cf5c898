import type { WorkspaceStore } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Releases } from '../lifecycle/releases.ts';
import type { Upkeep } from '../upkeep.ts';

export interface TakeOptions {
  readonly store: Pick<WorkspaceStore, 'abandoned' | 'takeOver'>;
  readonly upkeep: Pick<Upkeep, 'changing'>;
  readonly releases: Pick<Releases, 'release'>;
}

/**
 * The abandoned rows that one run has taken over. What it does not hand on it gives back when it ends, however
 * it ends: this server lives, so a row that it kept without working on it would never be finished by anybody.
 */
export class TakenRows implements AsyncDisposable {
  readonly rows: readonly Workspace[];
  readonly #options: TakeOptions;
  readonly #held: Set<string>;

  private constructor(options: TakeOptions, rows: readonly Workspace[], held: Iterable<string>) {
    this.#options = options;
    this.rows = rows;
    this.#held = new Set(held);
  }

  /** Only what `wanted` accepts is worth taking; a dry run takes nothing and answers with what it would. */
  static async take(
    options: TakeOptions,
    dryRun: boolean,
    wanted: (row: Workspace) => boolean,
  ): Promise<TakenRows> {
    const { store } = options;
    const abandoned = await store.abandoned();
    if (dryRun || !abandoned.some(wanted)) return new TakenRows(options, abandoned, []);
    try {
      const rows = await store.takeOver();
      return new TakenRows(options, rows, idsOf(rows));
    } catch (error) {
      // The database may have done it before the answer was lost.
      await using _ = new TakenRows(options, [], idsOf(abandoned));
      throw error;
    }
  }

  /** The row is somebody else's concern from here on. */
  handOn(id: string): void {
    this.#held.delete(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { upkeep, releases } = this.#options;
    for (const id of this.#held) {
      if (!upkeep.changing().has(id)) await releases.release(id);
    }
  }
}

function idsOf(rows: readonly Workspace[]): readonly string[] {
  return rows.map(({ id }) => id);
}
