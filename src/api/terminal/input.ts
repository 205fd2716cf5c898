import type { RawData, WebSocket } from 'ws';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Terminal } from '../../engine/engine.ts';
import { terminalControl } from '../schemas/terminal.ts';
import type { TerminalControl } from '../schemas/terminal.ts';

type Message = Uint8Array | TerminalControl;

/** Bytes that wait while others are on their way; beyond them the client is not listened to. */
const maxWaitingBytes = 64 * 1024;
/** Those of a control message count too. */
const controlBytes = 1024;

/** What the client sends, handed to the terminal in its order; what has come meanwhile goes together. */
export class TerminalInput {
  readonly #socket: WebSocket;
  readonly #terminal: Terminal;
  readonly #onFailure: (failure: unknown) => void;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  #busy = false;
  #stopped = false;

  constructor(socket: WebSocket, terminal: Terminal, onFailure: (failure: unknown) => void) {
    this.#socket = socket;
    this.#terminal = terminal;
    this.#onFailure = onFailure;
    socket.on('message', (data, isBinary) => {
      this.#receive(data, isBinary);
    });
  }

  /** Nothing more is handed on; what still comes, such as the client's goodbye, is read. */
  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#socket.resume();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#stopped) return;
    try {
      const bytes = bytesOf(data);
      const message = isBinary ? bytes : controlOf(bytes);
      this.#waiting.push(message);
      this.#waitingBytes += isBinary ? bytes.length : controlBytes;
    } catch (failure) {
      this.#fail(failure);
      return;
    }
    if (this.#waitingBytes > maxWaitingBytes) this.#socket.pause();
    if (!this.#busy) void this.#handOn();
  }

  async #handOn(): Promise<void> {
    this.#busy = true;
    try {
      for (;;) {
        const next = this.#take();
        if (next === undefined) return;
        await this.#perform(next);
      }
    } catch (failure) {
      if (!isOver(failure)) this.#fail(failure);
    } finally {
      this.#busy = false;
    }
  }

  /** One control message, or all bytes up to the next one. */
  #take(): Message | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    if (!(first instanceof Uint8Array)) {
      this.#waiting.shift();
      this.#took(controlBytes);
      return first;
    }
    const end = this.#waiting.findIndex((message) => !(message instanceof Uint8Array));
    const taken = this.#waiting.splice(0, end < 0 ? Infinity : end);
    const bytes = Buffer.concat(taken.filter((message) => message instanceof Uint8Array));
    this.#took(bytes.length);
    return bytes;
  }

  #took(bytes: number): void {
    this.#waitingBytes -= bytes;
    if (this.#waitingBytes <= maxWaitingBytes) this.#socket.resume();
  }

  async #perform(message: Message): Promise<void> {
    if (message instanceof Uint8Array) await this.#terminal.input(message);
    else if (message.type === 'signal') await this.#terminal.signal(message.name);
    else await this.#terminal.resize({ cols: message.cols, rows: message.rows });
  }

  #fail(failure: unknown): void {
    if (this.#stopped) return;
    this.stop();
    this.#onFailure(failure);
  }
}

/** The command has ended: its `exit` is on its way, and tells more. */
function isOver(failure: unknown): boolean {
  return (
    failure instanceof EmergentError && ['wrong_state', 'process_not_found'].includes(failure.code)
  );
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}

function controlOf(bytes: Buffer): TerminalControl {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    throw new EmergentError('invalid_value', `a text message is not JSON: ${reasonOf(error)}`);
  }
  const parsed = terminalControl.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new EmergentError(
    'invalid_value',
    `a text message is not a control message: ${issue?.message ?? ''}`,
  );
}
