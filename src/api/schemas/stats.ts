import { z } from 'zod';
import type { StatsReport, WorkspaceUse } from '../../engine/engine.ts';
import { workspaceStatuses } from '../../domain/workspace.ts';
import { id, timestamp } from './text.ts';

export const workspaceStats = z
  .object({
    workspace_id: id,
    owner: z.string().describe('The id of the token that created it.'),
    provider: z.string(),
    status: z.enum(workspaceStatuses),
    last_used_at: timestamp,
    at: timestamp.nullable().describe('When it was measured; null: it could not be, see reason.'),
    frozen: z.boolean().describe('Nothing runs in it, and it rests until the next operation.'),
    cpu_percent: z
      .number()
      .nullable()
      .describe('Of one core, over the last moments. Null: it does not run, or is unknown.'),
    cpu_seconds: z.number().nullable().describe('Used since it was started.'),
    cpu_limit: z.number().describe('Cores.'),
    memory_bytes: z.int().nullable().describe('What its processes and its /tmp hold.'),
    memory_limit_bytes: z.int(),
    disk_bytes: z.int().nullable().describe('What lies in /workspace; also of a stopped one.'),
    disk_limit_bytes: z.int(),
    processes: z.int().nullable(),
    reason: z.string().nullable().describe('Why it could not be measured.'),
  })
  .meta({ id: 'WorkspaceStats' });

export const workspaceStatsList = z
  .object({
    items: z.array(workspaceStats).describe('Newest first.'),
    left_out: z.int().describe('How many more there are: no more than 1000 are measured.'),
  })
  .meta({ id: 'WorkspaceStatsList' });

export function presentStats(from: WorkspaceUse): z.output<typeof workspaceStats> {
  const { workspace, stats, cpuPercent } = from;
  const { cpu, memoryBytes, diskBytes } = workspace.resourceLimits;
  return {
    workspace_id: workspace.id,
    owner: workspace.owner,
    provider: workspace.provider,
    status: workspace.status,
    last_used_at: workspace.lastUsedAt.toISOString(),
    at: stats?.at.toISOString() ?? null,
    frozen: stats?.frozen ?? false,
    cpu_percent: rounded(cpuPercent, 1),
    cpu_seconds: rounded(stats?.cpuSeconds ?? null, 3),
    cpu_limit: cpu,
    memory_bytes: stats?.memoryBytes ?? null,
    memory_limit_bytes: memoryBytes,
    disk_bytes: stats?.diskBytes ?? null,
    disk_limit_bytes: diskBytes,
    processes: stats?.processes ?? null,
    reason: from.reason ?? null,
  };
}

export function presentStatsList(from: StatsReport): z.output<typeof workspaceStatsList> {
  return { items: from.items.map(presentStats), left_out: from.leftOut };
}

function rounded(value: number | null, digits: number): number | null {
  return value === null ? null : Number(value.toFixed(digits));
}
