import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';
import type { McpClient, McpConnection } from '../../engine/mcp/connection.ts';
import type { McpOperations } from '../../engine/mcp/operations.ts';

/** Somebody who stays: it hears what is told to everybody, from this program and from those that follow it. */
export interface Member {
  readonly caller: Caller;
  readonly client: McpClient;
  /** Attached to a program. `changed`: it introduced itself in another way than the one before. */
  attached(connection: McpConnection, changed: boolean): void;
  /** The server is gone for good. */
  expelled(): void;
}

export interface HostedServerParts {
  readonly mcp: McpOperations;
  readonly clock: Clock;
  readonly log: Log;
  /** Nobody and nothing is left of it; it may be forgotten. */
  readonly deserted: () => void;
}

const firstRetryMs = 500;
const lastRetryMs = 15_000;

/**
 * One hosted server as the gateway sees it: programs come and go, those who talk to it stay. Each request brings the
 * connection that it found; without requests, the next one is looked for as soon as the last has ended, for as long
 * as anybody would hear of it.
 */
export class HostedServer {
  readonly id: string;
  readonly #parts: HostedServerParts;
  readonly #members = new Map<Member, Disposable | undefined>();
  readonly #over = new AbortController();
  #connection: McpConnection | undefined;
  #known: string | undefined;
  #looking = false;

  constructor(id: string, parts: HostedServerParts) {
    this.id = id;
    this.#parts = parts;
  }

  get connection(): McpConnection | undefined {
    return this.#connection?.ended.aborted === true ? undefined : this.#connection;
  }

  /** To be told of every connection that a request was given. */
  use(connection: McpConnection): void {
    if (connection === this.#connection || connection.ended.aborted || this.#over.signal.aborted) {
      return;
    }
    this.#detachAll();
    this.#connection = connection;
    connection.ended.addEventListener(
      'abort',
      () => {
        this.#ended(connection);
      },
      { once: true },
    );
    const told = asTold(connection.introduction);
    const changed = this.#known !== undefined && this.#known !== told;
    this.#known = told;
    for (const member of this.#members.keys()) this.#attach(member, connection, changed);
  }

  join(member: Member): Disposable {
    this.#members.set(member, undefined);
    const connection = this.connection;
    if (connection) this.#attach(member, connection, false);
    else void this.#look();
    return {
      [Symbol.dispose]: () => {
        this.#members.get(member)?.[Symbol.dispose]();
        this.#members.delete(member);
        this.#forgetIfDeserted();
      },
    };
  }

  /** It was deleted: everybody leaves. */
  end(): void {
    this.#over.abort(new EmergentError('mcp_server_not_found', 'the server was deleted'));
    for (const member of [...this.#members.keys()]) member.expelled();
  }

  #attach(member: Member, connection: McpConnection, changed: boolean): void {
    this.#members.set(member, connection.attach(member.client));
    member.attached(connection, changed);
  }

  #detachAll(): void {
    for (const [member, attachment] of this.#members) {
      attachment?.[Symbol.dispose]();
      this.#members.set(member, undefined);
    }
  }

  #ended(connection: McpConnection): void {
    if (connection !== this.#connection) return;
    this.#detachAll();
    this.#connection = undefined;
    this.#forgetIfDeserted();
    void this.#look();
  }

  #forgetIfDeserted(): void {
    if (this.#members.size === 0 && !this.#connection) this.#parts.deserted();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      for (let pause = firstRetryMs; this.#isWanted(); pause = Math.min(pause * 2, lastRetryMs)) {
        if (await this.#found()) return;
        await this.#parts.clock.sleep(pause, this.#over.signal);
      }
    } catch (error) {
      // Deleted meanwhile; anything else would be a fault of ours.
      if (!this.#over.signal.aborted) this.#parts.log.error('mcp gateway', { err: error });
    } finally {
      this.#looking = false;
    }
  }

  #isWanted(): boolean {
    return this.#members.size > 0 && this.connection === undefined && !this.#over.signal.aborted;
  }

  async #found(): Promise<boolean> {
    const [member] = this.#members.keys();
    if (!member) return true;
    try {
      const target = await this.#parts.mcp.target(member.caller, this.id, this.#over.signal);
      if (target.kind === 'stdio') this.use(target.connection);
      return target.kind !== 'stdio' || !target.connection.ended.aborted;
    } catch (error) {
      if (isGone(error)) {
        this.end();
        return true;
      }
      this.#parts.log.debug('mcp server not there yet', { id: this.id, reason: reasonOf(error) });
      return false;
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof EmergentError && error.code === 'mcp_server_not_found';
}

function asTold({ serverInfo, capabilities, instructions }: McpIntroduction): string {
  return JSON.stringify([serverInfo, capabilities, instructions]);
}
