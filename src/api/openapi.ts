import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';

/** Documents every route that is registered after this, from its schemas. */
export async function documentRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Emergent Workspaces',
        version,
        description:
          'Isolated computers for AI agents. Every failure answers {"error": {code, message, hint, ' +
          'details?, request_id}}, and every answer carries X-Request-Id.',
      },
      servers: [{ url: '/' }],
      security: [{ bearer: [] }],
      tags: [
        { name: 'workspaces', description: 'Create, find, stop, resume and destroy workspaces.' },
        { name: 'pool', description: 'Sandboxes that are made before anybody asks for one.' },
        { name: 'tools', description: 'Work inside a workspace.' },
        { name: 'processes', description: 'Commands that outlive their caller.' },
        { name: 'terminals', description: 'Commands with a terminal, over a WebSocket.' },
        { name: 'mcp', description: 'Servers that are hosted here, for MCP clients everywhere.' },
        { name: 'events', description: 'What happened, and what happens now.' },
        { name: 'upkeep', description: 'Compare what is recorded with what is there; for admins.' },
        { name: 'tokens', description: 'Who may call; for admins.' },
        { name: 'server', description: 'Health, measurements, this document.' },
      ],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) =>
      tidied(jsonSchemaTransformObject(document) as OpenAPIV3_1.Document),
  });
}

const refPrefix = '#/components/schemas/';
const inputSuffix = 'Input';

/**
 * The generator writes each named schema twice, as it is sent ("Bash") and as it is received ("BashInput"). Here
 * every one is used in one direction, so what nothing refers to is left out and the rest go by their plain names.
 */
function tidied(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const all = document.components?.schemas ?? {};
  const used = new Set<string>();
  const visit = (name: string): void => {
    if (used.has(name)) return;
    used.add(name);
    refsIn(all[name]).forEach(visit);
  };
  refsIn(document.paths).forEach(visit);
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  const kept = { ...document, components: { ...document.components, schemas } };
  let text = JSON.stringify(kept);
  for (const name of used) {
    const plain = name.slice(0, -inputSuffix.length);
    if (!name.endsWith(inputSuffix) || used.has(plain)) continue;
    text = text.replaceAll(`${refPrefix}${name}"`, `${refPrefix}${plain}"`);
    text = text.replace(`"${name}":`, `"${plain}":`);
  }
  return withOptionalBodies(JSON.parse(text) as OpenAPIV3_1.Document);
}

function refsIn(part: unknown): string[] {
  const text = JSON.stringify(part ?? null);
  return [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].flatMap(([, name]) =>
    name === undefined ? [] : [name],
  );
}

/** A body without required members may be left out as a whole. */
function withOptionalBodies(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  for (const methods of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(methods ?? {})) {
      if (typeof operation !== 'object' || !('requestBody' in operation)) continue;
      const body = operation.requestBody;
      if ('$ref' in body) continue;
      const schemas = Object.values(body.content).flatMap(({ schema }) => refsIn(schema));
      body.required = schemas.some((name) => document.components?.schemas?.[name]?.required);
    }
  }
  return document;
}
