import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';

export type Query = Readonly<Record<string, string | number>>;

export interface Notice {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** Where terminals are opened, and by whom. */
export interface Door {
  readonly url: string;
  readonly token: string;
}

export function terminalUrl({ url }: Pick<Door, 'url'>, id: string, query: Query): string {
  const parameters = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return `${url.replace('http', 'ws')}/api/v1/agent/workspaces/${id}/terminal?${parameters.toString()}`;
}

export const screen = { cols: 80, rows: 24 } as const;

/** One connection to a terminal, which remembers all that it was told. */
export class TerminalClient {
  readonly socket: WebSocket;
  readonly notices: Notice[] = [];
  /** The code that the connection was closed with. */
  readonly closed: Promise<number>;
  readonly #bell = new EventTarget();
  readonly #shown: Buffer[] = [];
  bytes = 0;
  #over = false;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.#show(data as Buffer);
      else this.notices.push(JSON.parse((data as Buffer).toString()) as Notice);
      this.#bell.dispatchEvent(new Event('ring'));
    });
    socket.on('error', () => undefined);
    this.closed = once(socket, 'close').then(([code]) => {
      this.#over = true;
      this.#bell.dispatchEvent(new Event('ring'));
      return code as number;
    });
  }

  static async open(door: Door, id: string, query: Query = {}): Promise<TerminalClient> {
    const socket = new WebSocket(terminalUrl(door, id, { ...screen, ...query }), {
      headers: { authorization: `Bearer ${door.token}` },
    });
    const client = new TerminalClient(socket);
    await once(socket, 'open');
    await client.notice('ready');
    return client;
  }

  get shownBytes(): Buffer {
    return Buffer.concat(this.#shown);
  }

  get shown(): string {
    return this.shownBytes.toString();
  }

  get processId(): string {
    return String(this.notices[0]?.['process_id']);
  }

  type(keys: string): void {
    this.socket.send(Buffer.from(keys));
  }

  say(control: unknown): void {
    this.socket.send(JSON.stringify(control));
  }

  /** Resolves when the terminal has shown it. */
  async shows(what: string): Promise<void> {
    await this.#until(() => this.shown.includes(what), what);
  }

  async notice(type: string): Promise<Notice> {
    await this.#until(() => this.notices.some((each) => each.type === type), type);
    return this.notices.find((each) => each.type === type) as Notice;
  }

  async leave(): Promise<void> {
    this.socket.close();
    await this.closed;
  }

  #show(data: Buffer): void {
    this.#shown.push(data);
    this.bytes += data.length;
  }

  async #until(holds: () => boolean, what: string): Promise<void> {
    while (!holds()) {
      if (this.#over) {
        throw new Error(`closed without ${what}: ${this.shown} ${JSON.stringify(this.notices)}`);
      }
      await once(this.#bell, 'ring');
    }
  }
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly headers: IncomingMessage['headers'];
}

/** The answer to an upgrade that is refused. */
export async function refusedUpgrade(
  url: string,
  headers: Readonly<Record<string, string>>,
  protocols: readonly string[] = [],
): Promise<Refusal> {
  const socket = new WebSocket(url, [...protocols], { headers: { ...headers } });
  const refused = Promise.withResolvers<IncomingMessage>();
  socket.on('unexpected-response', (_, response) => {
    refused.resolve(response);
  });
  socket.on('open', () => {
    refused.reject(new Error('the upgrade was not refused'));
  });
  socket.on('error', refused.reject);
  const refusal = await refusalIn(await refused.promise);
  socket.terminate();
  return refusal;
}

/** The answer to a handshake in which `headers` take the place of the right ones. */
export async function refusedHandshake(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Refusal> {
  const asked = request(url.replace('ws', 'http'), {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      ...headers,
    },
  });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return refusalIn(response);
}

async function refusalIn(response: IncomingMessage): Promise<Refusal> {
  const body = JSON.parse(await text(response)) as { error: { code: string } };
  return { status: response.statusCode ?? 0, code: body.error.code, headers: response.headers };
}
