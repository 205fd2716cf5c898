import type { McpContent, McpToolResult } from '../http/mcp-types.ts';
import { isObject } from '../input/mcp-json.ts';
import { readableSize } from './units.ts';

/** What a tool answered, for people: its text as it is, everything else in one line that says what it is. */
export function contentText({ content = [], structuredContent }: McpToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent, null, 2);
  }
  return content.map(partText).join('\n');
}

function partText(part: McpContent): string {
  switch (part.type) {
    case 'text':
      return textOf(part['text']);
    case 'image':
    case 'audio':
      return binary(part.type, part['mimeType'], part['data']);
    case 'resource_link':
      return `[link to ${textOf(part['uri'])}${described(part['name'])}]`;
    case 'resource':
      return isObject(part['resource']) ? resourceText(part['resource']) : '[resource]';
    default:
      return `[${part.type}: --json shows it]`;
  }
}

function resourceText({ text, uri, mimeType, blob }: Readonly<Record<string, unknown>>): string {
  return typeof text === 'string' ? text : binary(`resource ${textOf(uri)}`, mimeType, blob);
}

/** `data` is base64. */
function binary(what: string, mimeType: unknown, data: unknown): string {
  const bytes = typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0;
  const type = typeof mimeType === 'string' ? `${mimeType}, ` : '';
  return `[${what}: ${type}${readableSize(bytes)}; --json has it]`;
}

function described(name: unknown): string {
  return typeof name === 'string' && name !== '' ? `, ${name}` : '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
