import { UsageFailure } from '../failure.ts';
import type { McpTool } from '../http/mcp-types.ts';
import { isObject } from './mcp-json.ts';
import { isOfType, propertiesOf, requiredOf, typesOf } from './mcp-tool-schema.ts';
import type { Schema } from './mcp-tool-schema.ts';

export type ToolArguments = Readonly<Record<string, unknown>>;

/** A whole object of arguments as one word; undefined where the words are `key=value`. */
export function jsonArguments(words: readonly string[]): ToolArguments | undefined {
  const [first, ...others] = words;
  if (first === undefined) return {};
  if (!first.trimStart().startsWith('{')) return undefined;
  if (others.length > 0) {
    throw new UsageFailure(
      `too much behind the JSON: ${others.join(' ')}`,
      'Write one JSON object in quotes, or key=value for each argument.',
    );
  }
  try {
    return JSON.parse(first) as ToolArguments;
  } catch (error) {
    throw new UsageFailure(
      `the arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`,
      'Write one JSON object in quotes, or key=value for each argument.',
    );
  }
}

/** `key=value` words as the tool wants them: each value is what the tool's schema says it is. */
export function typedArguments(words: readonly string[], tool: McpTool): ToolArguments {
  const given = new Map<string, string[]>();
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals < 1) {
      throw new UsageFailure(
        `"${word}" is not an argument`,
        'Write key=value for each argument, or one JSON object in quotes.',
      );
    }
    const key = word.slice(0, equals);
    given.set(key, [...(given.get(key) ?? []), word.slice(equals + 1)]);
  }
  const properties = propertiesOf(tool);
  refuseUnknown(given, properties, tool);
  refuseMissing(given, tool);
  return Object.fromEntries(
    [...given].map(([key, texts]) => [key, typed(key, texts, properties[key] ?? {})]),
  );
}

/** A name that the schema does not have is a slip of the keyboard, unless the schema says that it takes any. */
function refuseUnknown(
  given: ReadonlyMap<string, unknown>,
  properties: Readonly<Record<string, Schema>>,
  { name, inputSchema }: McpTool,
): void {
  const any = inputSchema['additionalProperties'];
  if (any === true || isObject(any)) return;
  const unknown = [...given.keys()].filter((key) => !Object.hasOwn(properties, key));
  if (unknown.length === 0) return;
  const known = Object.keys(properties).join(', ') || 'none';
  throw new UsageFailure(
    `${name} takes no argument ${unknown.join(', ')}`,
    `Its arguments: ${known}. A JSON object is sent as it is.`,
  );
}

function refuseMissing(given: ReadonlyMap<string, unknown>, tool: McpTool): void {
  const missing = requiredOf(tool).filter((key) => !given.has(key));
  if (missing.length === 0) return;
  const example = missing.map((key) => `${key}=…`).join(' ');
  throw new UsageFailure(`${tool.name} lacks ${missing.join(', ')}`, `Add: ${example}`);
}

/** Several values of one key are a list, and so is one, where only a list will do. */
function typed(key: string, texts: readonly string[], schema: Schema): unknown {
  const types = typesOf(schema);
  const [only = '', ...others] = texts;
  if (others.length === 0) {
    const value = single(only, types);
    if (value !== undefined) return value.is;
  }
  if (types.includes('array')) {
    const itemTypes = isObject(schema['items']) ? typesOf(schema['items']) : [];
    const items = texts.map((text) => single(text, itemTypes));
    if (items.every((item) => item !== undefined)) return items.map((item) => item.is);
  }
  const wanted = types.join(' or ') || 'one value';
  throw new UsageFailure(
    `${key} is to be ${wanted}, and "${texts.join(' ')}" is not`,
    types.includes('object') ? `Write it as JSON: '${key}={…}'` : undefined,
  );
}

/** What JSON reads in it, where that is of a wanted type; else the text itself, where text is wanted, or anything. */
function single(text: string, types: readonly string[]): { readonly is: unknown } | undefined {
  const takesText = types.length === 0 || types.includes('string');
  if (types.length > 0 && !(types.length === 1 && takesText)) {
    const parsed = parsedJson(text);
    if (parsed && types.some((type) => isOfType(parsed.is, type))) return parsed;
  }
  return takesText ? { is: text } : undefined;
}

function parsedJson(text: string): { readonly is: unknown } | undefined {
  try {
    return { is: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
