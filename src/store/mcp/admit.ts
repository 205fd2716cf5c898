import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { insertWorkspace } from '../workspaces/insert.ts';
import type { McpNames } from './names.ts';
import { nameTaken, takeUpKept } from './take-up-kept.ts';

/**
 * Race: one name is given out at a time (`names.ts`). A server that is just being removed without keeping anything is
 * waited for by the unique index, and its name is free after that.
 */
export async function admitMcpServer(
  names: McpNames,
  server: number,
  workspace: NewWorkspace,
  at: Date,
): Promise<Workspace> {
  const { id, owner, mcpConfig } = workspace;
  return names.run(async (tx) => {
    if (mcpConfig) await takeUpKept(tx, { id, owner, name: mcpConfig.name });
    try {
      return await insertWorkspace(tx, server, workspace, at);
    } catch (error) {
      if (!mcpConfig || !isSecondOfName(error)) throw error;
      throw nameTaken(mcpConfig.name, 'another MCP server of the same owner has it');
    }
  });
}

function isSecondOfName(error: unknown): boolean {
  return (
    error instanceof Error && 'constraint' in error && error.constraint === 'mcp_server_name_unique'
  );
}
