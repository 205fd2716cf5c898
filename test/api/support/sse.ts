export interface ServerEvent {
  readonly event: string;
  /** Absent where the event has none. */
  readonly id?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events of a response as they come, without the signs of life, which a slow machine sees more of. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent, undefined> {
  for await (const event of framesOf(response)) if (event.event !== 'comment') yield event;
}

/** The same with the signs of life, as events named "comment". */
export async function* framesOf(response: Response): AsyncGenerator<ServerEvent, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of bytesOf(response)) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield parse(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  if (text !== '') throw new Error(`the stream ended inside an event: ${text}`);
}

/** The body of a response, typed: the platform's own types leave its chunks open. */
export function bytesOf(response: Response): AsyncIterable<Uint8Array> {
  if (!response.body) throw new Error('the response has no body');
  return response.body;
}

function parse(block: string): ServerEvent {
  if (block.startsWith(':')) return { event: 'comment', data: { text: block.slice(1).trim() } };
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const data = JSON.parse(fields.get('data') ?? 'null') as ServerEvent['data'];
  const id = fields.get('id');
  return { event: fields.get('event') ?? '', data, ...(id !== undefined && { id: Number(id) }) };
}

/** What a command wrote to one of its outputs, byte for byte. */
export function outputOf(events: readonly ServerEvent[], name: 'stdout' | 'stderr'): Buffer {
  return Buffer.concat(
    events
      .filter(({ event }) => event === name)
      .map(({ data }) =>
        typeof data['text'] === 'string'
          ? Buffer.from(data['text'])
          : Buffer.from(String(data['base64']), 'base64'),
      ),
  );
}
