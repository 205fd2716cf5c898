import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { EmergentError } from '../../domain/errors.ts';

interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Bounds for what is told about one request, which may hold thousands of wrong fields. */
const maxIssues = 20;
const maxNameLength = 100;

/** Fastify's door to zod: a request that does not fit becomes an error that names each wrong field. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (data) => {
    const result = schema.safeParse(data);
    return result.success
      ? { value: result.data }
      : { error: invalidRequest(httpPart ?? 'body', result.error.issues) };
  };

export function invalidRequest(part: string, issues: readonly z.core.$ZodIssue[]): EmergentError {
  const unknown = issues.flatMap((issue) => unknownFields(issue, part));
  const invalid = issues.flatMap((issue) => invalidValues(issue, part));
  const all = [...unknown, ...invalid];
  const [first] = all;
  const more = all.length > 1 ? ` (and ${String(all.length - 1)} more)` : '';
  const message = first ? `${first.path}: ${first.message}${more}` : `the ${part} is not valid`;
  return new EmergentError(codeFor(part, unknown, invalid), message, {
    details: { in: part, issues: all.slice(0, maxIssues) },
  });
}

function codeFor(
  part: string,
  unknown: readonly Issue[],
  invalid: readonly Issue[],
): 'bad_id' | 'unknown_field' | 'invalid_value' {
  // Every parameter in a path is an id.
  if (part === 'params' && invalid.length > 0) return 'bad_id';
  return unknown.length > 0 ? 'unknown_field' : 'invalid_value';
}

function unknownFields(issue: z.core.$ZodIssue, part: string): Issue[] {
  if (issue.code !== 'unrecognized_keys') return [];
  const kind = part === 'querystring' ? 'query parameter' : 'field';
  return issue.keys.map((key) => ({
    path: pathOf([...issue.path, key], part),
    message: `there is no such ${kind}`,
  }));
}

function invalidValues(issue: z.core.$ZodIssue, part: string): Issue[] {
  if (issue.code === 'unrecognized_keys') return [];
  const path = pathOf(issue.path, part);
  // zod wraps what is wrong with the name of a record's member.
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
  return [{ path, message: plain(issue.message) }];
}

/** "resource_limits.memory"; the whole part where the path is empty. */
function pathOf(path: readonly PropertyKey[], part: string): string {
  if (path.length === 0) return part;
  return path.map((name) => String(name).slice(0, maxNameLength)).join('.');
}

/** zod opens most messages with a phrase that says nothing beside the field's name. */
function plain(message: string): string {
  return message.replace(/^(?:Invalid input: |Invalid option: )/, '');
}
