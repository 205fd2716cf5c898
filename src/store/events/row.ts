import type { EventType, WorkspaceEvent } from '../../domain/events.ts';
import type { Row } from '../database.ts';
import { integer, object, text, textOrNull, time } from '../row.ts';

export function eventFrom(row: Row): WorkspaceEvent {
  return {
    id: integer(row, 'id'),
    at: time(row, 'at'),
    workspaceId: textOrNull(row, 'workspace_id'),
    owner: text(row, 'owner'),
    actor: text(row, 'actor'),
    // A newer server on this database may have written types that this one does not know.
    type: text(row, 'type') as EventType,
    detail: object(row, 'detail'),
  };
}
