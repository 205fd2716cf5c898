import type { JsonRpcNotification } from '../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';

const lists = ['tools', 'prompts', 'resources'] as const;

/** What to tell those who knew the program before: nothing that they have listed may be taken for granted. */
export function staleLists({ capabilities }: McpIntroduction): readonly JsonRpcNotification[] {
  return lists
    .filter((list) => list === 'tools' || capabilities[list] !== undefined)
    .map((list) => ({ method: `notifications/${list}/list_changed` }));
}
