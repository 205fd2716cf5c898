import type { WorkspaceStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { countByProvider } from './count-by-provider.ts';
import { getWorkspace } from './get.ts';
import { insertWorkspace } from './insert.ts';
import { listWorkspaces } from './list.ts';
import { removeWorkspace } from './remove.ts';
import { transitionWorkspace } from './transition.ts';

export function workspaceStore(db: Queryable): WorkspaceStore {
  return {
    insert: (workspace) => insertWorkspace(db, workspace),
    get: (id) => getWorkspace(db, id),
    list: (query) => listWorkspaces(db, query),
    transition: (id, from, to, changes) => transitionWorkspace(db, id, from, to, changes),
    remove: (id, from) => removeWorkspace(db, id, from),
    countByProvider: () => countByProvider(db),
  };
}
