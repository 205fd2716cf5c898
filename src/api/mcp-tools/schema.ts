import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';

/**
 * A schema as tools announce it. Validation is the schema's own; its JSON is made once, here, since a server object
 * is made for every request.
 */
export function announced(schema: z.ZodType): StandardSchemaWithJSON {
  const input = jsonOf(schema, 'input');
  const output = jsonOf(schema, 'output');
  const { version, vendor, validate } = schema['~standard'];
  return {
    '~standard': {
      version,
      vendor,
      validate,
      jsonSchema: { input: () => input, output: () => output },
    },
  };
}

/**
 * Without regular expressions: models have no use for them, and some of the services that schemas are handed to refuse
 * those they cannot compile (`\p{…}`, named groups). What they forbid is refused by the validation.
 */
function jsonOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema, ...json } = z.toJSONSchema(schema.clone(), {
    io,
    override: ({ jsonSchema }) => {
      delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
    },
  });
  return { $schema, type: 'object', ...json };
}
