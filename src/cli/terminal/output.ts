import type { Writable } from 'node:stream';
import { BrokenPipe, systemCode } from '../failure.ts';

/**
 * Resolves when the bytes have left, so that whoever produces them is held back by whoever reads them.
 * Rejects with BrokenPipe when nobody reads any more.
 */
export function write(stream: Writable, data: Uint8Array | string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.write(data, (error) => {
    if (!error) resolve();
    else reject(isBrokenPipe(error) ? new BrokenPipe('broken pipe', { cause: error }) : error);
  });
  return promise;
}

function isBrokenPipe(error: Error): boolean {
  const code = systemCode(error);
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EIO';
}

export function printLine(line: string): Promise<void> {
  return write(process.stdout, `${line}\n`);
}

export function printJson(value: unknown): Promise<void> {
  return printLine(JSON.stringify(value, null, 2));
}

/** Text from elsewhere, fit for one line of a table or a message. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** For the person in front of the terminal; never mixed into what a script reads. */
export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/**
 * Text that came from a server or a sandbox, without the control characters that would let it command the
 * terminal it is shown on.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
