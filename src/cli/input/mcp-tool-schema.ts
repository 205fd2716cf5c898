import type { McpTool } from '../http/mcp-types.ts';
import { isObject } from './mcp-json.ts';

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** An argument of a tool, for people. */
export interface ToolParameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

/** Those that must be given come first. */
export function parametersOf(tool: McpTool): readonly ToolParameter[] {
  const required = requiredOf(tool);
  const all = Object.entries(propertiesOf(tool)).map(([name, schema]) => ({
    name,
    type: typesOf(schema).join('|') || 'any',
    required: required.includes(name),
  }));
  return [...all.filter((one) => one.required), ...all.filter((one) => !one.required)];
}

export function propertiesOf({ inputSchema }: McpTool): Readonly<Record<string, Schema>> {
  const { properties } = inputSchema;
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => [key, isObject(schema) ? schema : {}]),
  );
}

export function requiredOf({ inputSchema }: McpTool): readonly string[] {
  const { required } = inputSchema;
  return Array.isArray(required) ? required.filter((key) => typeof key === 'string') : [];
}

/** The types that a schema allows; none: any. */
export function typesOf(schema: Schema): readonly string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === 'string');
  const choices = [schema['anyOf'], schema['oneOf']].find((list) => Array.isArray(list)) ?? [];
  const nested = (choices as unknown[]).flatMap((one) => (isObject(one) ? typesOf(one) : []));
  if (nested.length > 0) return [...new Set(nested)];
  const { enum: values } = schema;
  if (!Array.isArray(values)) return [];
  return values.every((value) => typeof value === 'string') ? ['string'] : [];
}

export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
