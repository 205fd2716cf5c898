import type { Clock } from '../../src/base/clock.ts';
import type { ApiClient, Row } from './api-client.ts';
import type { Findings } from './findings.ts';
import type { Premises } from './inventory.ts';
import { expectAllGone } from './last-gone.ts';
import type { Ledger } from './model/ledger.ts';
import type { WorkspaceRecord } from './model/workspace-record.ts';
import type { Operations } from './operations.ts';
import type { Pool } from './pool.ts';
import { allRows, giveUpPool, untilFull } from './pool-check.ts';
import { compareWithRows } from './premises-check.ts';
import { mend, settle } from './settle.ts';

export interface VerifyOptions {
  readonly api: ApiClient;
  readonly pool: Pool;
  readonly premises: Premises;
  readonly ledger: Ledger;
  readonly operations: Operations;
  readonly findings: Findings;
  readonly clock: Clock;
  /** Whether a fault of this run can have put a workspace into `error`: then it must be possible to recover it. */
  readonly errorsExplained: boolean;
}

/** A sandbox is not made again at once where making one has failed, as it does without an engine. */
const convergeMs = 180_000;

export interface Verified {
  /** When rows, containers, volumes and disks agreed, by the clock's monotonic time. */
  readonly consistentAt: number;
  readonly files: number;
  readonly recovered: number;
  /** The engine kept the network for a container that it no longer had, until it was restarted. */
  readonly miscounted: boolean;
}

/**
 * The closing check, when nothing is broken any more: rows come to rest, everything on the engine and its host has
 * its row, everything that was acknowledged is there or gone, and destroying everything leaves nothing.
 */
export async function verify(options: VerifyOptions): Promise<Verified> {
  const { api, clock, findings, ledger, premises } = options;
  await settle(options);
  await mend(options);
  await untilFull({ ...options, convergeMs });
  const rows = await api.rows();
  await compareWithRows(premises, findings, () => allRows(api));
  const consistentAt = clock.monotonic();

  adoptStrays(options, rows);
  const check = new WorkspaceCheck(options);
  for (const workspace of ledger.workspaces) await check.run(workspace);
  const miscounted = await destroyAll(options);
  return { consistentAt, files: check.files, recovered: check.recovered, miscounted };
}

/** Rows that no answer named: from unanswered creates they are as good as any other, otherwise leaks. */
function adoptStrays({ ledger, findings }: VerifyOptions, rows: readonly Row[]): void {
  for (const { id, status, metadata } of rows) {
    if (ledger.find(id)) continue;
    findings.add('leak', id, ledger.observeStray(metadata['chaos']));
    ledger.adopt(id, status === 'stopped' ? 'stopped' : 'ready');
  }
}

/** Holds one workspace after the other against the model. */
class WorkspaceCheck {
  files = 0;
  recovered = 0;
  readonly #options: VerifyOptions;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  async run(workspace: WorkspaceRecord): Promise<void> {
    const { findings, operations } = this.#options;
    const row = await operations.status(workspace);
    if (!row) {
      if (workspace.existence === 'exists') findings.add('loss', workspace.id, 'does not answer');
      return;
    }
    if (workspace.existence === 'doomed') return;
    if (!(await this.#brought(row, workspace))) return;
    if (!(await operations.bash(workspace, `check-${workspace.id}`))) {
      findings.add('loss', workspace.id, 'runs no command, though it is ready');
    }
    for (const path of workspace.files.keys()) {
      const right = await operations.read(workspace, path);
      if (!right) findings.add('loss', `${workspace.id} ${path}`, 'cannot be read');
      this.files += 1;
    }
    for (const process of workspace.processes.filter((one) => workspace.owes(one))) {
      await operations.readProcess(workspace, process);
    }
  }

  /** Ready, from whatever state it rests in. */
  async #brought(row: Row, workspace: WorkspaceRecord): Promise<boolean> {
    const { findings, operations, errorsExplained } = this.#options;
    if (row.status === 'ready') return true;
    if (row.status === 'error') {
      const reason = row.status_reason ?? 'no reason given';
      if (!errorsExplained) findings.add('stuck', workspace.id, `in error: ${reason}`);
      this.recovered += 1;
    }
    const change = row.status === 'error' ? 'recover' : 'resume';
    if (await operations.change(change, workspace)) return true;
    findings.add('stuck', workspace.id, `${row.status}, and ${change} does not bring it back`);
    return false;
  }
}

/** Answers whether the engine had to be restarted for that. */
async function destroyAll(options: VerifyOptions): Promise<boolean> {
  const { api, findings, ledger, operations } = options;
  for (const workspace of ledger.workspaces.filter(isThere)) {
    await operations.change('destroy', workspace);
    if (workspace.existence !== 'gone') findings.add('stuck', workspace.id, 'cannot be destroyed');
  }
  for (const row of await api.rows()) findings.add('leak', row.id, `a row is left: ${row.status}`);
  await giveUpPool({ ...options, convergeMs });
  const miscounted = await expectAllGone(options);
  for (const workspace of ledger.workspaces) await operations.status(workspace);
  return miscounted;
}

function isThere({ existence }: WorkspaceRecord): boolean {
  return existence !== 'gone';
}
