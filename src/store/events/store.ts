import type { EventStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { knownWorkspaces } from './known.ts';
import { listEvents } from './list.ts';
import { newestEventId } from './newest-id.ts';
import { pruneEvents } from './prune.ts';
import { recordCalls } from './record-calls.ts';
import { recordIncident } from './record-incident.ts';
import { recordMcp } from './record-mcp.ts';
import { recordNotice } from './record-notice.ts';

export function eventStore(db: Queryable): EventStore {
  return {
    recordMcp: (event) => recordMcp(db, event),
    recordNotice: (notice) => recordNotice(db, notice),
    recordCalls: (calls) => recordCalls(db, calls),
    recordIncident: (incident) => recordIncident(db, incident),
    list: (query) => listEvents(db, query),
    newestId: () => newestEventId(db),
    known: (workspaceIds) => knownWorkspaces(db, workspaceIds),
    prune: (before) => pruneEvents(db, before),
  };
}
