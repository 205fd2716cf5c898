import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { SandboxIncident } from '../domain/provider.ts';
import type { EventStore } from '../domain/store.ts';

const againMs = 2_000;
const giveUpMs = 600_000;
const maxWaiting = 256;
/** A workspace whose processes die as fast as they are started must not fill the log. */
const maxPerHour = 200;
const hourMs = 3_600_000;
/** More than any agent remembers and tells again. */
const lookBack = 100;

interface Waiting {
  readonly incident: SandboxIncident;
  readonly since: number;
  /** The database has failed over it, which is said once. */
  failed: boolean;
}

/**
 * Records what happens in sandboxes by itself. A database that does not answer is asked again for a while. An agent
 * tells a new server what it has told an old one, and two servers the same: what is recorded already is dropped.
 */
export class Incidents implements Disposable {
  readonly #events: Pick<EventStore, 'list' | 'recordIncident'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  /** By workspace: how many were recorded in the hour since. */
  readonly #recent = new Map<string, { since: number; count: number }>();
  readonly #stop = new AbortController();
  #recording = false;

  constructor(events: Pick<EventStore, 'list' | 'recordIncident'>, clock: Clock, log: Log) {
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
  }

  note(incident: SandboxIncident): void {
    if (this.#waiting.length >= maxWaiting) {
      this.#log.error('an incident is not recorded: too many wait', fields(incident));
      return;
    }
    this.#waiting.push({ incident, since: this.#clock.monotonic(), failed: false });
    if (!this.#recording) void this.#recordAll();
  }

  async #recordAll(): Promise<void> {
    this.#recording = true;
    try {
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        if (await this.#recorded(next)) this.#waiting.shift();
        else await this.#clock.sleep(againMs, this.#stop.signal);
      }
    } catch {
      // Stopped: the agents still remember what was not recorded.
    } finally {
      this.#recording = false;
    }
  }

  /** False: try again later. */
  async #recorded(waiting: Waiting): Promise<boolean> {
    const { incident, since, failed } = waiting;
    try {
      if (await this.#isKnown(incident)) return true;
      if (!failed && !this.#admits(incident.workspaceId)) return true;
      await this.#events.recordIncident(incident);
      this.#log.warn(messages[incident.kind], fields(incident));
      return true;
    } catch (error) {
      const givenUp = this.#clock.monotonic() - since >= giveUpMs;
      const about = { ...fields(incident), err: error };
      if (givenUp) this.#log.error('an incident is not recorded', about);
      else if (!failed) this.#log.warn('an incident cannot be recorded yet', about);
      waiting.failed = true;
      return givenUp;
    }
  }

  /** Those with a name of their own can come twice. */
  async #isKnown({ workspaceId, kind, detail }: SandboxIncident): Promise<boolean> {
    const name = detail['incident'];
    if (name === undefined) return false;
    const types = [`workspace.${kind}`] as const;
    const recorded = await this.#events.list({ workspaceId, types, limit: lookBack });
    return recorded.some((event) => event.detail['incident'] === name);
  }

  #admits(workspaceId: string): boolean {
    const now = this.#clock.monotonic();
    for (const [id, { since }] of this.#recent) {
      if (now - since >= hourMs) this.#recent.delete(id);
    }
    const recent = this.#recent.get(workspaceId) ?? { since: now, count: 0 };
    this.#recent.set(workspaceId, recent);
    recent.count += 1;
    if (recent.count === maxPerHour + 1) {
      const until = new Date(this.#clock.now().getTime() + hourMs - (now - recent.since));
      this.#log.warn('a workspace has too many incidents; more are not recorded for now', {
        workspace: workspaceId,
        until: until.toISOString(),
      });
    }
    return recent.count <= maxPerHour;
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error('stopped'));
  }
}

const messages: Readonly<Record<SandboxIncident['kind'], string>> = {
  memory_exceeded: 'a process was ended because its workspace exceeded its memory',
  disk_nearly_full: 'the disk of a workspace is nearly full',
};

function fields({ workspaceId, kind, at, detail }: SandboxIncident): Record<string, unknown> {
  return { ...detail, kind, at: at.toISOString(), workspace: workspaceId };
}
