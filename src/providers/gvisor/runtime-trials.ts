import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import type { ContainerProfile } from './container-profile.ts';
import { runtimeFlag } from './engine-info.ts';
import type { EngineInfo } from './engine-info.ts';

/** What a container that really ran under a runtime showed. */
export interface RanContainer {
  /** The kernel release seen inside. */
  readonly kernel: string;
  /** Of gVisor; null where its process cannot be seen from here, and for other runtimes. */
  readonly platform: string | null;
  /** Whose TCP/IP stack its sockets use: `sandbox`, `host`, `none`; null as above. */
  readonly network: string | null;
}

/** Starts a container under the named runtime and removes all of it again. Throws why it does not run. */
export type TryRuntime = (runtime: string, signal: AbortSignal) => Promise<RanContainer>;

export type RuntimeTrial =
  | { readonly state: 'works'; readonly facts: RuntimeFacts }
  | { readonly state: 'broken'; readonly reason: string };

/** For people and programs: in the provider's details and in a workspace's metadata. */
export type RuntimeFacts = Readonly<Record<string, string>>;

/** A trial that hangs is given up after this, its leftovers included. */
const trialMs = 45_000;
/** A busy host takes its time over a container. */
const usualPatienceMs = 15_000;
/** How long a failure is believed: an engine on its way out fails too, so a first one is soon doubted. */
const firstFailureHoldsMs = 1_000;
const longestFailureHoldsMs = 30_000;
const closeMs = 20_000;

export interface RuntimeTrialsOptions {
  readonly tryRuntime: TryRuntime;
  readonly profile: ContainerProfile;
  readonly clock: Clock;
  /** How long somebody who asks waits for the first trial. */
  readonly patienceMs?: number;
}

interface Known {
  readonly key: string;
  readonly trial: Promise<RuntimeTrial>;
  /** How many before it have failed in a row. */
  readonly failures: number;
  ended?: { readonly trial: RuntimeTrial; readonly monotonic: number };
  /** What is believed until this one has ended. */
  readonly before?: RuntimeTrial;
}

/**
 * Whether the engine's runtime really runs containers: found by starting one, once per engine and runtime. A failure
 * is believed for a while, twice as long each time in a row, and then until another trial has ended. A trial goes on
 * when whoever asked for it is gone, so that it leaves nothing behind and its answer is there for the next.
 */
export class RuntimeTrials implements AsyncDisposable {
  readonly #options: RuntimeTrialsOptions;
  readonly #closing = new AbortController();
  #known: Known | undefined;

  constructor(options: RuntimeTrialsOptions) {
    this.#options = options;
  }

  /** As far as they are known by now. */
  get facts(): RuntimeFacts {
    const trial = this.#known?.ended?.trial;
    return trial?.state === 'works' ? trial.facts : {};
  }

  async try(engine: EngineInfo, signal: AbortSignal): Promise<RuntimeTrial> {
    const { profile, patienceMs = usualPatienceMs } = this.#options;
    const runtime = profile.runtime ?? engine.defaultRuntime ?? 'runc';
    const known = this.#current(engine, runtime);
    if (known.before && !known.ended) return known.before;
    try {
      return await withDeadline(
        'trying the runtime',
        patienceMs,
        (inner) => untilAborted(known.trial, inner),
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      if (known.ended) throw error;
      const seconds = String(patienceMs / 1000);
      const reason = `a first container under "${runtime}" has not started within ${seconds} seconds`;
      return { state: 'broken', reason };
    }
  }

  /** Whoever could not start a container says so: the runtime may have changed behind our back. */
  forget(): void {
    if (this.#known?.ended) this.#known = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the server is stopping'));
    const trial = this.#known?.trial;
    await withDeadline('the end of trying the runtime', closeMs, async () => {
      await Promise.allSettled([trial]);
    }).catch(() => undefined);
  }

  #current(engine: EngineInfo, runtime: string): Known {
    const { clock } = this.#options;
    const key = JSON.stringify([
      ...[engine.id, engine.kernelVersion, runtime],
      engine.runtimes.get(runtime) ?? null,
    ]);
    const known = this.#known?.key === key ? this.#known : undefined;
    if (known) {
      const failedAt = known.ended?.trial.state === 'broken' ? known.ended.monotonic : undefined;
      const holdsMs = Math.min(firstFailureHoldsMs * 2 ** known.failures, longestFailureHoldsMs);
      if (failedAt === undefined || clock.monotonic() - failedAt < holdsMs) return known;
    }
    const before = known?.ended && { before: known.ended.trial };
    const failures = known ? known.failures + 1 : 0;
    const started: Known = { key, trial: this.#start(engine, runtime), failures, ...before };
    void started.trial.then((trial) => {
      started.ended = { trial, monotonic: clock.monotonic() };
    });
    this.#known = started;
    return started;
  }

  async #start(engine: EngineInfo, runtime: string): Promise<RuntimeTrial> {
    const { tryRuntime, profile } = this.#options;
    try {
      const ran = await withDeadline(`a trial container under "${runtime}"`, trialMs, (signal) =>
        tryRuntime(runtime, AbortSignal.any([signal, this.#closing.signal])),
      );
      if (profile.kernel === 'guest' && ran.kernel === engine.kernelVersion) {
        const reason = `the runtime "${runtime}" is not gVisor: its containers see the host's kernel`;
        return { state: 'broken', reason };
      }
      return { state: 'works', facts: factsOf(profile, engine, ran) };
    } catch (error) {
      return { state: 'broken', reason: `"${runtime}" starts no container: ${reasonOf(error)}` };
    }
  }
}

/** Where the sandbox's process cannot be seen, what the engine was told to start it with has to do. */
function factsOf(profile: ContainerProfile, engine: EngineInfo, ran: RanContainer): RuntimeFacts {
  const registered = engine.runtimes.get(profile.runtime ?? '');
  if (profile.kernel === 'host' || !registered) return {};
  const platform = ran.platform ?? runtimeFlag(registered, 'platform');
  const network = ran.network ?? runtimeFlag(registered, 'network') ?? 'sandbox';
  return {
    ...(platform !== undefined && { platform }),
    network_stack: network,
    ...(network === 'host' && {
      network_stack_warning:
        "sockets in workspaces use the host's TCP/IP stack (runsc runs with --network=host): isolation is reduced",
    }),
  };
}
