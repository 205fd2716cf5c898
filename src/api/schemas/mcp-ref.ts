import { z } from 'zod';

const pattern = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const shape = 'small letters, digits, ".", "_" and "-", at most 63, a letter or digit first';

/** What looks like an id can be no name: it could not be told which is meant. */
export const mcpName = z
  .string()
  .regex(pattern, `must be a name: ${shape}`)
  .refine((name) => !uuid.test(name), 'must not look like an id')
  .describe(`Unique among those of its owner: ${shape}.`);

/** In a path. Ids have the shape of names too. */
export const mcpRef = z
  .string()
  .toLowerCase()
  .regex(pattern, 'must be the id or the name of an MCP server')
  .describe('The id of the server, or its name.');
