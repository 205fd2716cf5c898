import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors } from '../schemas/error.ts';
import { id, noQuery } from '../schemas/text.ts';
import {
  createdToken,
  createTokenBody,
  presentCreatedToken,
  presentToken,
  tokenList,
} from '../schemas/token.ts';

const tags = ['tokens'];

export function tokenRoutes(api: Api, { engine }: ApiContext): void {
  api.post(
    '/tokens',
    {
      schema: {
        operationId: 'createToken',
        summary: 'Create a token; its secret is in this answer and nowhere else',
        tags,
        querystring: noQuery,
        body: createTokenBody,
        response: {
          201: answer('The token and its secret.', createdToken),
          ...errorResponses(...jsonBodyErrors, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const { name, role } = request.body;
      const { token, secret } = await engine.tokens.create(callerOf(request), name, role);
      return reply.code(201).send(presentCreatedToken(token, secret));
    },
  );

  api.get(
    '/tokens',
    {
      schema: {
        operationId: 'listTokens',
        summary: 'List tokens, revoked ones included',
        tags,
        querystring: noQuery,
        response: {
          200: answer('Every token, without secrets.', tokenList),
          ...errorResponses('forbidden'),
        },
      },
    },
    async (request) => ({
      items: (await engine.tokens.list(callerOf(request))).map(presentToken),
    }),
  );

  api.delete(
    '/tokens/:id',
    {
      schema: {
        operationId: 'revokeToken',
        summary: 'Revoke a token; it stops working at once',
        tags,
        params: z.strictObject({ id }),
        querystring: noQuery,
        response: {
          204: z.undefined().describe('The token is revoked.'),
          ...errorResponses('bad_id', 'invalid_value', 'forbidden', 'token_not_found'),
        },
      },
    },
    async (request, reply) => {
      await engine.tokens.revoke(callerOf(request), request.params.id);
      return reply.code(204).send();
    },
  );
}
