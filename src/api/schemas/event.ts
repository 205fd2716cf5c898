import { z } from 'zod';
import { mcpEventKinds, noticeTypes, toolNames } from '../../domain/events.ts';
import type { EventType, WorkspaceEvent } from '../../domain/events.ts';
import { workspaceStatuses } from '../../domain/workspace.ts';
import { id, position, timestamp } from './text.ts';

const eventTypes: readonly EventType[] = [
  ...workspaceStatuses.map((status) => `workspace.${status}` as const),
  'workspace.destroyed',
  'workspace.memory_exceeded',
  'workspace.disk_nearly_full',
  ...toolNames.map((tool) => `tool.${tool}` as const),
  ...mcpEventKinds.map((kind) => `mcp.${kind}` as const),
  ...noticeTypes,
];
const eventType = z.enum(eventTypes);

export const eventsQuery = z.strictObject({
  workspace_id: id.optional(),
  type: z
    .preprocess(splitAtCommas, z.array(eventType).min(1).max(eventTypes.length))
    .optional()
    .describe('Only these; repeated, or separated by commas.'),
  after: position
    .optional()
    .describe('Only events behind this id, oldest first; without it the newest, newest first.'),
  limit: z.coerce
    .number<string>()
    .int()
    .min(1)
    .max(1000)
    .default(50)
    .describe('Of one answer; a stream has no limit.'),
});

const event = z
  .object({
    id: z.int().describe('Rises with every event.'),
    at: timestamp,
    workspace_id: id.nullable().describe('Null: it happened to the server itself.'),
    owner: z
      .string()
      .describe('The id of the token that owns the workspace, or a part of the server.'),
    actor: z.string().describe('Who did it: the id of a token, or a part of the server.'),
    type: eventType,
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

export const eventList = z
  .object({
    items: z.array(event),
    next_after: z.int().describe('As `after`, it asks for what comes behind these.'),
  })
  .meta({ id: 'EventList' });

export const eventStream = z
  .string()
  .describe(
    'Server-sent events as they happen: the name is the type, the id that of the event, the data an Event. ' +
      'Begins behind `after` or Last-Event-ID, without either with the next event.',
  );

export function presentEvent(from: WorkspaceEvent): z.output<typeof event> {
  return {
    id: from.id,
    at: from.at.toISOString(),
    workspace_id: from.workspaceId,
    owner: from.owner,
    actor: from.actor,
    type: from.type,
    detail: from.detail,
  };
}

function splitAtCommas(value: unknown): unknown {
  return [value]
    .flat()
    .flatMap((one: unknown) => (typeof one === 'string' ? one.split(',') : [one]));
}
