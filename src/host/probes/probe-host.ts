import { arch, release } from 'node:os';

import { findEngine } from '../docker/engine.ts';
import { lookAtCgroups } from './cgroup.ts';
import { check } from './check.ts';
import type { Check, CheckId } from './check.ts';
import { lookAtDatabase } from './database.ts';
import { lookAtDiskLimits } from './disk.ts';
import { dockerFinding } from './docker.ts';
import { lookAtKvm } from './kvm.ts';
import { lookAtMicrovmTools } from './microvm.ts';
import { lookAtWorkspaceNetwork } from './network.ts';
import { lookAtAgent, lookAtImage, lookAtNode } from './prepared.ts';
import { lookAtReflink } from './reflink.ts';
import { lookAtRunsc } from './runsc.ts';

/** One way to run workspaces, and what keeps it from working. */
export interface Isolation {
  readonly name: 'gvisor';
  readonly usable: boolean;
  readonly blockedBy: readonly CheckId[];
}

export interface HostReport {
  readonly kernel: string;
  readonly architecture: string;
  readonly checks: readonly Check[];
  readonly isolations: readonly Isolation[];
  /** Whether a workspace can be created here, in at least one isolation. */
  readonly usable: boolean;
}

export interface ProbeOptions {
  readonly signal?: AbortSignal;
}

const shortMs = 5_000;
const longMs = 14_000;

/** Looks at everything at once; ends within 15 seconds and changes nothing. */
export async function probeHost(options: ProbeOptions = {}): Promise<HostReport> {
  const { signal } = options;
  const looking = findEngine(undefined, signal);
  const engine = looking.then((look) => look.engine);
  const checks = await Promise.all([
    check('docker', longMs, async () => dockerFinding(await looking), signal),
    check('runsc', longMs, async (deadline) => lookAtRunsc(await engine, deadline), signal),
    check('image', longMs, async (deadline) => lookAtImage(await engine, deadline), signal),
    check('agent', longMs, lookAtAgent, signal),
    check('kvm', longMs, lookAtKvm, signal),
    check('microvm', shortMs, lookAtMicrovmTools, signal),
    check('reflink', shortMs, lookAtReflink, signal),
    check(
      'network',
      longMs,
      async (deadline) => lookAtWorkspaceNetwork(await engine, deadline),
      signal,
    ),
    check('disk', longMs, async () => lookAtDiskLimits(await engine), signal),
    check('cgroup', shortMs, () => lookAtCgroups(), signal),
    check('database', shortMs + 2_000, () => lookAtDatabase(), signal),
    check('node', shortMs, () => lookAtNode(), signal),
  ]);
  const isolations = isolationsOf(checks);
  return {
    kernel: release(),
    architecture: arch(),
    checks,
    isolations,
    usable: isolations.some((isolation) => isolation.usable),
  };
}

const gvisorNeeds: readonly CheckId[] = ['docker', 'runsc', 'image', 'agent', 'database', 'node'];

export function isolationsOf(checks: readonly Check[]): Isolation[] {
  const blockedBy = checks
    .filter(({ id, state }) => gvisorNeeds.includes(id) && state !== 'ok' && state !== 'reduced')
    .map(({ id }) => id);
  return [{ name: 'gvisor', usable: blockedBy.length === 0, blockedBy }];
}
