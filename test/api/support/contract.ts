import { expect } from 'vitest';
import { z } from 'zod';

type Json = Readonly<Record<string, unknown>>;
interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Json[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Json }>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}
interface ResponseObject {
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** /openapi.json as a promise: every answer that a test sees is held against it. */
export class Contract {
  readonly #document: OpenApiDocument;
  readonly #operations: readonly { path: RegExp; method: string; operation: Operation }[];
  readonly #schemas = new Map<Json, z.ZodType>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#operations = Object.entries(document.paths)
      // A fixed path wins over one with a parameter in its place.
      .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
      .flatMap(([template, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          path: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`),
          method: method.toUpperCase(),
          operation,
        })),
      );
  }

  /** Fails the test when the answer is not one that the document announces. */
  check(method: string, path: string, answer: Answer): void {
    const plain = path.split('?', 1)[0] ?? '';
    const found = this.#operations.find((one) => one.method === method && one.path.test(plain));
    if (!found) {
      expect([400, 401, 404, 503], `${method} ${plain} is not documented`).toContain(answer.status);
      return;
    }
    const response = found.operation.responses[String(answer.status)];
    const what = `${method} ${plain} -> ${String(answer.status)}`;
    expect(response, `${what} is not documented: ${answer.text.slice(0, 300)}`).toBeDefined();
    if (answer.text === '') return;
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
    const schema = response?.content?.[type]?.schema;
    expect(schema, `${what}: ${type} is not documented`).toBeDefined();
    if (schema && type === 'application/json') {
      const result = this.#validator(schema).safeParse(JSON.parse(answer.text));
      expect(result.error?.issues ?? [], `${what}: ${answer.text.slice(0, 300)}`).toEqual([]);
    }
  }

  #validator(schema: Json): z.ZodType {
    const known = this.#schemas.get(schema);
    if (known) return known;
    const $defs = this.#document.components.schemas;
    const whole = JSON.stringify({ ...schema, $defs }).replaceAll(
      '#/components/schemas/',
      '#/$defs/',
    );
    const made = z.fromJSONSchema(JSON.parse(whole) as z.core.JSONSchema.JSONSchema);
    this.#schemas.set(schema, made);
    return made;
  }
}
