import type { EventStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { knownWorkspaces } from './known.ts';
import { listEvents } from './list.ts';
import { newestEventId } from './newest-id.ts';
import { pruneEvents } from './prune.ts';
import { recordCall } from './record-call.ts';
import { recordIncident } from './record-incident.ts';
import { recordNotice } from './record-notice.ts';

export function eventStore(db: Queryable): EventStore {
  return {
    recordNotice: (notice) => recordNotice(db, notice),
    recordCall: (call) => recordCall(db, call),
    recordIncident: (incident) => recordIncident(db, incident),
    list: (query) => listEvents(db, query),
    newestId: () => newestEventId(db),
    known: (workspaceIds) => knownWorkspaces(db, workspaceIds),
    prune: (before) => pruneEvents(db, before),
  };
}
