import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { cut } from '../../domain/events.ts';
import type { SandboxIncident } from '../../domain/provider.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';
import type { Incident } from './gen/emergent/agent/v1/agent_pb.ts';
import type { GuestSend } from './http.ts';
import { moment } from './process-info.ts';
import { guestTransport } from './transport.ts';

export type GuestIncident = Omit<SandboxIncident, 'workspaceId'>;

/**
 * What happens in a sandbox by itself, as its agent tells it. Every new link is asked once, from the last incident
 * that was heard on; a link is never opened for it, and none is kept from being idle: what happens while nobody has
 * one is told when the next one opens.
 */
export class GuestIncidents {
  readonly #client: Client<typeof Agent>;
  readonly #hand: (incident: GuestIncident) => void;
  #bootId = '';
  #after = 0n;

  /** `send` must be of the open link only. */
  constructor(send: GuestSend, hand: (incident: GuestIncident) => void) {
    this.#client = createClient(Agent, guestTransport(send));
    this.#hand = hand;
  }

  /** Until the link ends. */
  async listen(): Promise<void> {
    try {
      const asked = { after: this.#after, bootId: this.#bootId };
      for await (const { bootId, incident } of this.#client.watch(asked)) {
        if (incident) this.#hear(bootId, incident);
      }
    } catch {
      // The link has ended, and the next one is asked for what comes now; or the agent is of a version without this.
    }
  }

  /** Of two links for a moment, as when one breaks unseen, both tell the same. */
  #hear(bootId: string, incident: Incident): void {
    if (bootId === this.#bootId && incident.number <= this.#after) return;
    [this.#bootId, this.#after] = [bootId, incident.number];
    const told = translate(bootId, incident);
    if (told) this.#hand(told);
  }
}

function translate(bootId: string, { number, atMs, kind }: Incident): GuestIncident | undefined {
  // A kind that a later version of the agent knows.
  if (kind.case !== 'memoryExceeded') return undefined;
  const { process, pid, tag, rssBytes, usedBytes, limitBytes } = kind.value;
  return {
    kind: 'memory_exceeded',
    at: moment(atMs),
    detail: {
      incident: cut(`${bootId}/${String(number)}`),
      process: cut(printable(process)),
      pid,
      ...(tag !== '' && { process_id: cut(tag) }),
      rss_bytes: size(rssBytes),
      used_bytes: size(usedBytes),
      limit_bytes: size(limitBytes),
    },
  };
}

function size(bytes: bigint): number {
  return Math.min(Number(bytes), Number.MAX_SAFE_INTEGER);
}

/** A process may call itself anything. */
function printable(name: Uint8Array): string {
  return new TextDecoder().decode(name).replaceAll(/\p{C}/gu, '\uFFFD');
}
