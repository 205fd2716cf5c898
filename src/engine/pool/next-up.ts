import type { WorkspaceProvider } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { refOf } from '../lifecycle/sandbox-specs.ts';

/**
 * Which members the next claims will probably get: those that have waited longest. While the database decides, they
 * wake up. A guess that is wrong, as when another server was faster, costs nothing but a nap.
 */
export class NextUp {
  readonly #provider: (name: string) => Pick<WorkspaceProvider, 'warm'>;
  #waiting: readonly Workspace[] = [];

  constructor(provider: (name: string) => Pick<WorkspaceProvider, 'warm'>) {
    this.#provider = provider;
  }

  /** Those that wait, oldest first. */
  set waiting(members: readonly Workspace[]) {
    this.#waiting = members;
  }

  /** Each is roused once: of several claims at the same time the next one gets the next. */
  rouse(key: string): void {
    const next = this.#waiting.find(({ poolKey }) => poolKey === key);
    if (!next) return;
    this.#waiting = this.#waiting.filter((member) => member !== next);
    this.#provider(next.provider).warm?.rouse(refOf(next));
  }
}
