import type { McpTool } from '../http/mcp-types.ts';
import { parametersOf } from '../input/mcp-tool-schema.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';

const columns: readonly Column<McpTool>[] = [
  { title: 'TOOL', cell: (row) => row.name },
  { title: 'ARGUMENTS', cell: argumentsOf },
  { title: 'DESCRIPTION', cell: firstLine },
];

/** A table of tools; arguments that may be left out stand in brackets. */
export function toolLines(tools: readonly McpTool[]): string[] {
  return tableLines(columns, tools);
}

function argumentsOf(tool: McpTool): string {
  const each = parametersOf(tool).map(({ name, type, required }) => {
    const text = type === 'string' ? name : `${name}:${type}`;
    return required ? text : `[${text}]`;
  });
  return each.join(' ') || '-';
}

function firstLine({ description, title }: McpTool): string {
  return (description ?? title ?? '').trim().split('\n')[0] ?? '';
}
