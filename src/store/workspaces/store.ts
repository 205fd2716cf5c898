import type { Clock } from '../../base/clock.ts';
import type { WorkspaceStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import type { McpNames } from '../mcp/names.ts';
import type { ServerIdentity } from '../server.ts';
import { abandonedWorkspaces } from './abandoned.ts';
import type { Admissions } from './admission.ts';
import { admitWorkspace } from './admit.ts';
import { allWorkspaces } from './all.ts';
import { claimExpired } from './claim-expired.ts';
import { countByProvider } from './count-by-provider.ts';
import { getWorkspace } from './get.ts';
import { listWorkspaces } from './list.ts';
import { releaseWorkspace } from './release.ts';
import { removeWorkspace } from './remove.ts';
import { takeOverWorkspaces } from './take-over.ts';
import { touchWorkspace } from './touch.ts';
import { transitionWithin } from './transition-within.ts';
import { transitionWorkspace } from './transition.ts';

export function workspaceStore(
  db: Queryable,
  admissions: Admissions,
  names: McpNames,
  server: ServerIdentity,
  clock: Pick<Clock, 'now'>,
): WorkspaceStore {
  const { number } = server;
  return {
    admit: (workspace, limit) =>
      admitWorkspace(admissions, names, number, workspace, limit, clock.now()),
    get: (id) => getWorkspace(db, id),
    list: (query) => listWorkspaces(db, query),
    all: () => allWorkspaces(db),
    transition: (id, transition) => transitionWorkspace(db, number, id, transition, clock.now()),
    transitionWithin: (id, transition, limit) =>
      transitionWithin(admissions, number, id, transition, limit, clock.now()),
    remove: (id, by, detail = {}) =>
      removeWorkspace(db, number, id, { at: clock.now(), by, detail }),
    release: (id) => releaseWorkspace(db, number, id),
    takeOver: () => takeOverWorkspaces(db, server),
    abandoned: () => abandonedWorkspaces(db, server),
    touch: (id, now, owner) => touchWorkspace(db, id, now, owner),
    claimExpired: (now, except, limit) => claimExpired(db, number, now, except, limit),
    countByProvider: () => countByProvider(db),
  };
}
