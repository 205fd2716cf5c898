import { Seal } from '../../base/seal.ts';
import type { JsonObject } from '../../domain/json-rpc.ts';

/** What a session is, apart from what happens in it. */
export interface SessionFacts {
  readonly serverId: string;
  /** Whose it is: nobody else's token is let in with its id. */
  readonly tokenId: string;
  /** What its client said that it can do, `bounded`. */
  readonly capabilities: JsonObject;
  readonly protocolVersion: string;
}

/** What is asked of clients, and so what must be remembered of their capabilities. */
const askedOf = ['sampling', 'elicitation', 'roots', 'tasks'] as const;
const maxCapabilityBytes = 2048;

/**
 * The id of a session holds the session, sealed: a server that was restarted goes on with it, and nobody can make one
 * up. Each is another, though two sessions may be alike.
 */
export class SessionIds {
  readonly #seal: Seal;

  constructor(key: Uint8Array) {
    this.#seal = new Seal(key, 'mcp-session-id');
  }

  make({ serverId, tokenId, protocolVersion, capabilities }: SessionFacts): string {
    const text = JSON.stringify([serverId, tokenId, protocolVersion, capabilities]);
    return Buffer.from(this.#seal.close(text), 'base64').toString('base64url');
  }

  /** Undefined: it is none of ours. */
  read(id: string): SessionFacts | undefined {
    if (!/^[\w-]{38,8192}$/.test(id)) return undefined;
    try {
      const text = this.#seal.open(Buffer.from(id, 'base64url').toString('base64'));
      const [serverId, tokenId, protocolVersion, capabilities] = JSON.parse(text) as [
        string,
        string,
        string,
        JsonObject,
      ];
      return { serverId, tokenId, protocolVersion, capabilities };
    } catch {
      // Sealed with another key, or made up: either way there is no such session.
      return undefined;
    }
  }
}

/** Ids travel in headers, which are bounded: what would make one too long is remembered in outline. */
export function bounded(capabilities: JsonObject): JsonObject {
  const asked = askedOf.filter((name) => typeof capabilities[name] === 'object');
  const whole = Object.fromEntries(asked.map((name) => [name, capabilities[name]]));
  return sizeOf(whole) <= maxCapabilityBytes
    ? whole
    : Object.fromEntries(asked.map((name) => [name, {}]));
}

function sizeOf(value: JsonObject): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // Nested too deeply to be written.
    return Infinity;
  }
}
