import { actors } from '../../domain/events.ts';
import type { EventStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { knownWorkspaces } from './known.ts';
import { listEvents } from './list.ts';
import { newestEventId } from './newest-id.ts';
import { pruneEvents } from './prune.ts';
import { recordCalls } from './record-calls.ts';
import { recordNotice } from './record-notice.ts';
import { recordOnRow } from './record-on-row.ts';

export function eventStore(db: Queryable): EventStore {
  return {
    recordMcp: ({ kind, ...event }) =>
      recordOnRow(db, { ...event, actor: actors.mcpHost, type: `mcp.${kind}` }),
    recordNotice: (notice) => recordNotice(db, notice),
    recordCalls: (calls) => recordCalls(db, calls),
    recordIncident: ({ kind, ...incident }) =>
      recordOnRow(db, { ...incident, actor: actors.sandbox, type: `workspace.${kind}` }),
    list: (query) => listEvents(db, query),
    newestId: () => newestEventId(db),
    known: (workspaceIds) => knownWorkspaces(db, workspaceIds),
    prune: (before) => pruneEvents(db, before),
  };
}
