import type { Caller } from '../../domain/caller.ts';
import type { EventQuery, WorkspaceEvent } from '../../domain/events.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { errorResponses } from '../schemas/error.ts';
import { eventList, eventsQuery, eventStream, presentEvent } from '../schemas/event.ts';
import { resumeHeaders } from '../schemas/text.ts';
import { accepts } from '../stream/accepts.ts';
import { followingEnds, sendFrames } from '../stream/follow.ts';
import type { Frame } from '../stream/follow.ts';

type Filter = Pick<EventQuery, 'workspaceId' | 'types'>;

export function eventRoutes(api: Api, context: ApiContext): void {
  const { events } = context.engine;

  /** Asked before the answer begins: whoever has its headers misses nothing from then on. */
  const newest = async (caller: Caller, filter: Filter): Promise<number> =>
    (await events.list(caller, { ...filter, limit: 1 }))[0]?.id ?? 0;

  api.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'What happened; Accept: text/event-stream follows what happens',
        tags: ['events'],
        querystring: eventsQuery,
        headers: resumeHeaders,
        response: {
          200: {
            description: 'The events of workspaces that the caller owns; an admin sees all.',
            content: {
              'application/json': { schema: eventList },
              'text/event-stream': { schema: eventStream },
            },
          },
          ...errorResponses('invalid_value'),
        },
      },
    },
    async (request, reply) => {
      const { workspace_id: workspaceId, type, after, limit } = request.query;
      const caller = callerOf(request);
      const filter: Filter = {
        ...(workspaceId !== undefined && { workspaceId }),
        ...(type && { types: type }),
      };
      if (accepts(request.headers.accept, 'text/event-stream')) {
        const from = request.headers['last-event-id'] ?? after ?? (await newest(caller, filter));
        const ends = followingEnds(reply, context);
        const following = events.follow(caller, { ...filter, after: from }, ends);
        await sendFrames(eventFrames(following), request, reply, context);
        return reply;
      }
      const query = { ...filter, limit, ...(after !== undefined && { after }) };
      const items = await events.list(caller, query);
      const nextAfter = Math.max(after ?? 0, ...items.map(({ id }) => id));
      return reply
        .type('application/json; charset=utf-8')
        .header('vary', 'Accept')
        .send({ items: items.map(presentEvent), next_after: nextAfter });
    },
  );
}

async function* eventFrames(events: AsyncIterable<WorkspaceEvent>): AsyncGenerator<Frame> {
  for await (const event of events) {
    yield { event: event.type, data: presentEvent(event), id: event.id };
  }
}
