import type { JsonRpcOutcome } from '../../../domain/json-rpc.ts';

/** From most to least talkative. */
const levels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type McpLogLevel = (typeof levels)[number];

/** For a client that has not said, as soon as another has. */
const unsaid: McpLogLevel = 'info';

export function isLogLevel(value: unknown): value is McpLogLevel {
  return levels.some((level) => level === value);
}

/**
 * What each attached client wants of the program's log messages. The program knows one level: the most talkative that
 * anybody wants, told again whenever that changes. While nobody has said anything, it is left alone and everybody hears
 * what it says.
 */
export class LogLevels {
  readonly #tell: (level: McpLogLevel) => Promise<JsonRpcOutcome>;
  readonly #wanted = new Map<string, McpLogLevel | null>();
  #told: McpLogLevel | null = null;
  /** The tellings so far, one after the other; never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(tell: (level: McpLogLevel) => Promise<JsonRpcOutcome>) {
    this.#tell = tell;
  }

  attached(clientId: string): void {
    this.#wanted.set(clientId, null);
    this.#follow();
  }

  detached(clientId: string): void {
    this.#wanted.delete(clientId);
    this.#follow();
  }

  levelOf(clientId: string): McpLogLevel | null {
    return this.#wanted.get(clientId) ?? null;
  }

  /** The program's own answer where it had to be told; what it refuses does not count as wanted. */
  async set(clientId: string, level: McpLogLevel): Promise<JsonRpcOutcome> {
    const before = this.levelOf(clientId);
    this.#wanted.set(clientId, level);
    const undo = (): void => {
      if (this.#wanted.get(clientId) === level) this.#wanted.set(clientId, before);
    };
    try {
      const outcome = await this.#sync();
      if ('error' in outcome) undo();
      return outcome;
    } catch (error) {
      undo();
      throw error;
    }
  }

  /** Whether this client hears a message of this level. Who is not attached can have said nothing here. */
  hears(clientId: string, level: unknown): boolean {
    if (!isLogLevel(level) || !this.#wanted.has(clientId)) return true;
    const least = this.levelOf(clientId) ?? (this.#anySaid() ? unsaid : 'debug');
    return levels.indexOf(level) >= levels.indexOf(least);
  }

  #anySaid(): boolean {
    return this.#wanted.values().some((level) => level !== null);
  }

  /** Null: nobody has said anything. */
  #lowest(): McpLogLevel | null {
    if (!this.#anySaid()) return null;
    const wanted = [...this.#wanted.values()].map((level) => levels.indexOf(level ?? unsaid));
    return levels[Math.min(...wanted)] ?? null;
  }

  /** Somebody came or went: nobody waits for this, and a failure is told again with the next change. */
  #follow(): void {
    if (this.#lowest() !== this.#told) this.#sync().catch(() => undefined);
  }

  #sync(): Promise<JsonRpcOutcome> {
    const telling = this.#last.then(async () => {
      const level = this.#lowest();
      if (level === null || level === this.#told) return { result: {} };
      const outcome = await this.#tell(level);
      if ('result' in outcome) this.#told = level;
      return outcome;
    });
    this.#last = telling.catch(() => undefined);
    return telling;
  }
}
