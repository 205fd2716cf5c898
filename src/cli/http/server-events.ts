/** One event of a `text/event-stream`, its data still as text. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Larger than any event of the API; a line beyond it means that the other side is something else. */
const maxLineBytes = 16 * 2 ** 20;
const lineFeed = 0x0a;

/** Reads events as they come. An event that the end of the stream cuts off is dropped. */
export async function* serverEvents(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
  let event = 'message';
  let data: string[] = [];
  for await (const line of lines(source)) {
    if (line === '') {
      if (data.length > 0) yield { event, data: data.join('\n') };
      event = 'message';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
  }
}

/** Decodes whole lines only, so that a character split over two chunks stays whole. */
async function* lines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      parts.push(chunk.subarray(from, end));
      yield Buffer.concat(parts).toString('utf8').replace(/\r$/, '');
      parts = [];
      length = 0;
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > maxLineBytes) throw new Error('the server sent an event that is too large');
  }
}
