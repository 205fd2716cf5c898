import type { Api, ApiContext } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses } from '../schemas/error.ts';
import {
  presentProvider,
  presentSelection,
  providerList,
  selection,
  selectionQuery,
  toSelectionRequest,
} from '../schemas/provider.ts';
import { noQuery } from '../schemas/text.ts';

const tags = ['providers'];

export function providerRoutes(api: Api, { engine }: ApiContext): void {
  api.get(
    '/agent/workspaces/providers',
    {
      schema: {
        operationId: 'listProviders',
        summary: 'Show every provider and its health',
        tags,
        querystring: noQuery,
        response: {
          200: answer('Every provider of this server.', providerList),
          ...errorResponses(),
        },
      },
    },
    async () => {
      const statuses = await engine.workspaces.providerStatuses();
      return { providers: statuses.map(presentProvider) };
    },
  );

  api.get(
    '/agent/workspaces/providers/selection',
    {
      schema: {
        operationId: 'explainSelection',
        summary: 'Tell which providers a create would try now, and why; nothing is created',
        tags,
        querystring: selectionQuery,
        response: {
          200: answer('The decision, as of now.', selection),
          ...errorResponses('invalid_value', 'provider_unknown'),
        },
      },
    },
    async (request) => {
      const wanted = toSelectionRequest(request.query);
      return presentSelection(await engine.workspaces.explainSelection(wanted));
    },
  );
}
