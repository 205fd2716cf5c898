import { EmergentError } from '../../../../src/domain/errors.ts';
import type { KeptVolumes, McpState } from '../../../../src/domain/mcp.ts';
import type { NewWorkspace } from '../../../../src/domain/store.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';

/** What a database holds of MCP servers beside their rows, each by the server's id. */
export class MemoryMcpTables {
  readonly hosts = new Map<string, number>();
  readonly states = new Map<string, McpState>();
  readonly kept = new Map<string, KeptVolumes>();

  /** The row is gone. */
  drop(id: string): void {
    this.hosts.delete(id);
    this.states.delete(id);
  }

  /** The name of a server that is to be admitted beside `rows`; what was kept under it is kept no longer. */
  takeName({ id, owner, mcpConfig }: NewWorkspace, rows: readonly Workspace[]): void {
    if (mcpConfig === null) return;
    const { name } = mcpConfig;
    const named = rows.some((row) => row.owner === owner && row.mcpConfig?.name === name);
    const foreign = [...this.kept.values()].some((kept) => {
      const same = kept.owner === owner && kept.name === name;
      return same !== (kept.id === id);
    });
    if (named || foreign) throw new EmergentError('name_taken', `the name "${name}" is taken`);
    this.kept.delete(id);
  }
}
