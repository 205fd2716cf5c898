import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { RoundCall } from './round-call.ts';

/** Who may go on with a parked call, and as what. */
export interface Claim {
  readonly tokenId: string;
  readonly serverId: string;
  readonly method: string;
}

interface Parked extends Claim {
  readonly call: RoundCall;
  readonly taken: AbortController;
}

const parkedMs = 5 * 60_000;
const maxParked = 1_000;

/**
 * Calls whose program waits for an answer of a client of 2026-07-28, which brings it with its next request, or never.
 * The id is all that the client has of the call, so it cannot be guessed, and is of use to its own token only.
 */
export class ParkedCalls implements Disposable {
  readonly #clock: Clock;
  readonly #parked = new Map<string, Parked>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#parked.size;
  }

  /** The state that the client brings again. */
  park(call: RoundCall, claim: Claim): string {
    if (this.#parked.size >= maxParked) {
      const full = new EmergentError('limit_reached', 'too many calls wait for their clients');
      call.abandon(full);
      throw full;
    }
    const state = randomBytes(32).toString('base64url');
    const taken = new AbortController();
    this.#parked.set(state, { ...claim, call, taken });
    this.#clock.sleep(parkedMs, taken.signal).then(
      () => {
        this.#drop(state, new EmergentError('deadline_exceeded', 'the client did not answer'));
      },
      () => undefined,
    );
    // A call that ends by itself meanwhile, by its own timeout or with its program, still answers its next request.
    return state;
  }

  /** Undefined: there is no such call, or not for this caller. */
  take(state: unknown, { tokenId, serverId, method }: Claim): RoundCall | undefined {
    if (typeof state !== 'string') return undefined;
    const parked = this.#parked.get(state);
    const isTheirs =
      parked?.tokenId === tokenId && parked.serverId === serverId && parked.method === method;
    if (!isTheirs) return undefined;
    this.#parked.delete(state);
    parked.taken.abort(new Error('taken'));
    return parked.call;
  }

  [Symbol.dispose](): void {
    for (const state of [...this.#parked.keys()]) {
      this.#drop(state, new EmergentError('shutting_down', 'the server is stopping'));
    }
  }

  #drop(state: string, reason: EmergentError): void {
    const parked = this.#parked.get(state);
    this.#parked.delete(state);
    parked?.taken.abort(reason);
    parked?.call.abandon(reason);
  }
}
