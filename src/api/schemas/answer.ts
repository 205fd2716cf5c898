import type { z } from 'zod';

interface JsonAnswer<T extends z.ZodType> {
  description: string;
  content: { 'application/json': { schema: T } };
}

/** A successful JSON answer, with the words that the OpenAPI document has for it. */
export function answer<T extends z.ZodType>(description: string, schema: T): JsonAnswer<T> {
  return { description, content: { 'application/json': { schema } } };
}
