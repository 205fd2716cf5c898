import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** Colours only where a person looks: on a terminal, unless NO_COLOR asks for none. */
export function styled(style: Style, text: string, stream: { isTTY?: boolean }): string {
  if (stream.isTTY !== true || (process.env['NO_COLOR'] ?? '') !== '') return text;
  return styleText(style, text, { validateStream: false });
}

const good = new Set(['ready', 'healthy', 'warm', 'running', 'done']);
const bad = new Set(['error', 'unhealthy', 'failed', 'blocked']);

export function styledState(state: string, text: string, stream: { isTTY?: boolean }): string {
  if (good.has(state)) return styled('green', text, stream);
  if (bad.has(state)) return styled('red', text, stream);
  return styled('yellow', text, stream);
}
