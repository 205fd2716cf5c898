import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { insertWorkspace } from '../workspaces/insert.ts';
import type { McpNames } from './names.ts';
import { nameTaken, takeUpKept } from './take-up-kept.ts';

/**
 * Race: one name is given out at a time (`names.ts`). A server that is just being removed without keeping anything is
 * waited for by the unique index, and its name is free after that. Who admits it hosts it from the first moment that
 * others can see it: none of them takes it from under whoever registers it.
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
      const admitted = await insertWorkspace(tx, server, workspace, at);
      await tx.query('insert into kb.mcp_state (workspace_id, host) values ($1, $2)', [id, server]);
      return admitted;
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
