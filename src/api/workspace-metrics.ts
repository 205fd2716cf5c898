import { Counter, Gauge, Registry } from 'prom-client';
import type { StatsReport, WorkspaceUse } from '../engine/engine.ts';

const labelNames = ['workspace', 'provider'] as const;

interface Figure {
  readonly name: string;
  readonly help: string;
  readonly of: (use: WorkspaceUse) => number | null;
}

const figures: readonly Figure[] = [
  {
    name: 'emergent_workspace_cpu_limit_cores',
    help: 'Cores that the workspace may use.',
    of: ({ workspace }) => workspace.resourceLimits.cpu,
  },
  {
    name: 'emergent_workspace_memory_bytes',
    help: 'Memory that the processes of the workspace hold.',
    of: ({ stats }) => stats?.memoryBytes ?? null,
  },
  {
    name: 'emergent_workspace_memory_limit_bytes',
    help: 'Memory that they may hold.',
    of: ({ workspace }) => workspace.resourceLimits.memoryBytes,
  },
  {
    name: 'emergent_workspace_disk_bytes',
    help: 'What lies in /workspace.',
    of: ({ stats }) => stats?.diskBytes ?? null,
  },
  {
    name: 'emergent_workspace_disk_limit_bytes',
    help: 'What may lie there.',
    of: ({ workspace }) => workspace.resourceLimits.diskBytes,
  },
  {
    name: 'emergent_workspace_processes',
    help: 'Processes in the workspace.',
    of: ({ stats }) => stats?.processes ?? null,
  },
  {
    name: 'emergent_workspace_frozen',
    help: '1: nothing runs in it, and it rests until the next operation.',
    of: ({ stats }) => stats && Number(stats.frozen),
  },
];

/**
 * What workspaces use, in the Prometheus text format. Of its own registry each time: two who ask at once may see
 * different workspaces. What cannot be told has no line.
 */
export async function workspaceMetrics({ items, leftOut }: StatsReport): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  const cpu = new Counter({
    name: 'emergent_workspace_cpu_seconds_total',
    help: 'CPU time of the workspace since it was started.',
    ...{ labelNames, registers },
  });
  const gauges = figures.map(({ name, help, of }) => ({
    gauge: new Gauge({ name, help, labelNames, registers }),
    of,
  }));
  for (const use of items) {
    const labels = { workspace: use.workspace.id, provider: use.workspace.provider };
    const seconds = use.stats?.cpuSeconds ?? null;
    if (seconds !== null) cpu.inc(labels, seconds);
    for (const { gauge, of } of gauges) {
      const value = of(use);
      if (value !== null) gauge.set(labels, value);
    }
  }
  new Gauge({
    name: 'emergent_workspaces_unmeasured',
    help: 'Workspaces that are ready or stopped and could not be measured by this scrape.',
    registers,
  }).set(items.filter(({ stats }) => stats === null).length);
  new Gauge({
    name: 'emergent_workspaces_left_out',
    help: 'Workspaces that this scrape does not show, as there are too many.',
    registers,
  }).set(leftOut);
  return registry.metrics();
}
