import type { WorkspaceStatus } from '../../../src/domain/workspace.ts';
import { FileRecord } from './file-record.ts';
import type { Life, ProcessRecord } from './process-record.ts';

/** How an operation ended for the one who asked: a 2xx answer, another answer, or none. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** The changes of status that a client asks for, and where each leads. */
export type Change = 'stop' | 'resume' | 'recover' | 'destroy';
export type Rest = 'ready' | 'stopped';
const leadsTo = { stop: 'stopped', resume: 'ready', recover: 'ready' } as const;

/** The statuses a row may show on its way to a rest, and at it. `error` is judged apart. */
const shows: Readonly<Record<Rest, readonly WorkspaceStatus[]>> = {
  // A sandbox that was found not running is started again.
  ready: ['ready', 'resuming'],
  stopped: ['stopped', 'stopping'],
};

/**
 * What must be true of one workspace, given what its clients asked for and what they were told. Its changes of
 * status come from one client, one after the other.
 *
 * exists -> destroy asked, no answer: may be gone, and will be -> destroy acknowledged, or seen gone: gone for good
 */
export class WorkspaceRecord {
  readonly id: string;
  readonly files = new Map<string, FileRecord>();
  readonly processes: ProcessRecord[] = [];
  #existence: 'exists' | 'doomed' | 'gone' = 'exists';
  #possible: ReadonlySet<Rest>;
  #life: Life = 0;

  constructor(id: string, rest: Rest = 'ready') {
    this.id = id;
    this.#possible = new Set([rest]);
  }

  get existence(): 'exists' | 'doomed' | 'gone' {
    return this.#existence;
  }

  /** Undefined while nobody was told where the last change led. */
  get rest(): Rest | undefined {
    const [first, ...others] = this.#possible;
    return others.length === 0 ? first : undefined;
  }

  get life(): Life {
    return this.#life;
  }

  file(path: string): FileRecord {
    const known = this.files.get(path) ?? new FileRecord();
    this.files.set(path, known);
    return known;
  }

  /** Before the request is sent: from here on it may take effect. */
  attempt(change: Change): void {
    if (change === 'destroy') {
      if (this.#existence === 'exists') this.#existence = 'doomed';
    } else {
      this.#possible = new Set([...this.#possible, leadsTo[change]]);
    }
    if (change !== 'resume') this.#life += 1;
  }

  /** Any other outcome leaves what `attempt` said. */
  acknowledge(change: Change): void {
    if (change === 'destroy') this.#existence = 'gone';
    else this.#possible = new Set([leadsTo[change]]);
  }

  /** The server said that there is no such workspace. */
  observeMissing(): string | undefined {
    if (this.#existence === 'exists') return 'is gone, though nobody destroyed it';
    this.#existence = 'gone';
    return undefined;
  }

  /** The server showed the row. */
  observeStatus(status: WorkspaceStatus): string | undefined {
    if (this.#existence === 'gone') return `is there again (${status}) after it was destroyed`;
    if (this.#existence === 'doomed' || status === 'error') return undefined;
    const allowed = [...this.#possible].flatMap((rest) => shows[rest]);
    if (allowed.includes(status)) return undefined;
    return `is ${status}, where only ${allowed.join(' or ')} is possible`;
  }

  /** A process that was acknowledged must still be known while the sandbox has lived on. */
  owes(process: ProcessRecord): boolean {
    return this.#existence === 'exists' && process.life === this.#life;
  }
}
