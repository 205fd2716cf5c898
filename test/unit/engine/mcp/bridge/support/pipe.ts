import { createLog } from '../../../../../../src/base/log.ts';
import { Bridge } from '../../../../../../src/engine/mcp/bridge/bridge.ts';
import type { CallOptions, McpClient } from '../../../../../../src/engine/mcp/connection.ts';
import type { JsonObject, JsonRpcNotification } from '../../../../../../src/domain/json-rpc.ts';
import type { McpIntroduction } from '../../../../../../src/domain/mcp.ts';
import { FakeClock } from '../../../../../support/clock.ts';

/** A message as it stands on the wire. */
export type Wire = Readonly<Record<string, unknown>> & {
  readonly id?: number;
  readonly method?: string;
  readonly params?: JsonObject;
};

export const legacyIntroduction: McpIntroduction = {
  protocolVersion: '2025-11-25',
  serverInfo: { name: 'test', version: '1' },
  capabilities: { tools: {} },
  instructions: null,
};

export interface PipeOptions {
  readonly maxInFlight?: number;
  /** Null: it has not introduced itself. */
  readonly introduction?: McpIntroduction | null;
}

/** A bridge, and the program's end of its pipe in the hands of the test. */
export class Pipe {
  readonly clock = new FakeClock();
  readonly stray: string[] = [];
  /** What the program has read, in order. */
  readonly read: Wire[] = [];
  readonly bridge: Bridge;
  /** While set, writes wait for it; `Promise.reject` makes them fail. */
  stuck: Promise<void> | null = null;
  writes = 0;
  /** The bytes of each write, as text. */
  onWrite: ((text: string) => void) | null = null;

  constructor({ maxInFlight = 16, introduction = legacyIntroduction }: PipeOptions = {}) {
    this.bridge = new Bridge({
      write: (data, signal) => this.#write(data, signal),
      maxInFlight,
      clock: this.clock,
      log: createLog({ level: 'silent' }),
      onStray: (line) => this.stray.push(line),
    });
    if (introduction) this.bridge.adopt(introduction);
  }

  say(message: unknown): void {
    this.print(`${JSON.stringify(message)}\n`);
  }

  print(text: string): void {
    this.bridge.feed(Buffer.from(text, 'utf8'));
  }

  answer(id: number | undefined, result: unknown = {}): void {
    this.say({ jsonrpc: '2.0', id, result });
  }

  ask(id: number | string, method: string, params: JsonObject = {}): void {
    this.say({ jsonrpc: '2.0', id, method, params });
  }

  notify(method: string, params: JsonObject = {}): void {
    this.say({ jsonrpc: '2.0', method, params });
  }

  /** The last message that it has read with this method. */
  last(method: string): Wire {
    const found = this.read.findLast((message) => message.method === method);
    if (!found) throw new Error(`the program has read no ${method}`);
    return found;
  }

  methods(): readonly (string | undefined)[] {
    return this.read.map(({ method }) => method);
  }

  /** What it was answered to a question of its own. */
  answerTo(id: number | string): Wire | undefined {
    return this.read.find((message) => message['id'] === id && message.method === undefined);
  }

  async #write(data: Uint8Array, signal: AbortSignal): Promise<void> {
    this.writes += 1;
    if (this.stuck) {
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => {
        aborted.reject(new Error('aborted'));
      });
      await Promise.race([this.stuck, aborted.promise]);
    }
    const text = Buffer.from(data).toString('utf8');
    this.onWrite?.(text);
    const lines = text.split('\n').filter(Boolean);
    this.read.push(...lines.map((line) => JSON.parse(line) as Wire));
  }
}

export interface TestClient extends McpClient {
  readonly heard: JsonRpcNotification[];
}

export function testClient(id: string, others: Partial<McpClient> = {}): TestClient {
  const heard: JsonRpcNotification[] = [];
  return {
    id,
    capabilities: {},
    notify: (notification) => heard.push(notification),
    ...others,
    heard,
  };
}

export function options(client: McpClient, others: Partial<CallOptions> = {}): CallOptions {
  return { client, signal: new AbortController().signal, timeoutMs: 60_000, ...others };
}

/** Every promise that could settle without outside help has settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
