import type { McpExit } from '../../domain/mcp.ts';

/** "exited with code 1" or "was ended by SIGKILL", with the last thing that it said. */
export function exitText({ exitCode, signal }: McpExit, lastWords?: string): string {
  const how = signal === null ? `exited with code ${String(exitCode)}` : `was ended by ${signal}`;
  return lastWords === undefined ? how : `${how}; its last words: ${cutWords(lastWords)}`;
}

function cutWords(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 199)}…`;
}
