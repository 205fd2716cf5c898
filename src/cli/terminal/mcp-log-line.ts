import type { McpLogLine } from '../http/mcp-types.ts';
import { oneLine, printable } from './output.ts';
import { styled } from './style.ts';

const streamWidth = 'stderr'.length;

/** One line of a server's log: when, where it came from, what it says. */
export function mcpLogLine({ at, stream, text }: McpLogLine, to: { isTTY?: boolean }): string {
  const origin = oneLine(stream).padEnd(streamWidth);
  const line = `${oneLine(at)}  ${origin}  ${printable(text).trimEnd()}`;
  return stream === 'host' ? styled('dim', line, to) : line;
}
