import { EmergentError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../../domain/mcp.ts';
import { bridgeBounds } from './bounds.ts';
import { legacyRevisions, metaKeys, modernRevision } from './envelope.ts';
import { isObject } from './messages.ts';

const maxDepth = 16;
const nameLength = 200;

/** From the answer to `initialize`. */
export function initializeAnswer(result: JsonObject): McpIntroduction {
  const { protocolVersion } = result;
  const revision = legacyRevisions.find((known) => known === protocolVersion);
  if (!revision) {
    throw broken('initialize', `it speaks revision ${shown(protocolVersion)}, which is not known`);
  }
  const { serverInfo } = result;
  if (!isObject(serverInfo)) throw broken('initialize', 'serverInfo is missing or no object');
  return introductionOf('initialize', revision, serverInfo, result);
}

/** From the answer to `server/discover`; who it is stands beside it, if at all. */
export function discoverAnswer(result: JsonObject): McpIntroduction {
  const { supportedVersions: versions, _meta: meta } = result;
  if (!Array.isArray(versions) || !versions.includes(modernRevision)) {
    throw broken('server/discover', `it does not speak revision ${modernRevision}`);
  }
  const serverInfo = isObject(meta) ? meta[metaKeys.serverInfo] : undefined;
  const unnamed = { name: 'unnamed', version: 'unknown' };
  const info = isObject(serverInfo) ? serverInfo : unnamed;
  return introductionOf('server/discover', modernRevision, info, result);
}

/** Refusals of both ways to begin. */
export function refused(method: string, message: string): EmergentError {
  return broken(method, `it refused: ${shown(message)}`);
}

function introductionOf(
  method: string,
  protocolVersion: string,
  serverInfo: JsonObject,
  { capabilities, instructions }: JsonObject,
): McpIntroduction {
  const { name, version } = serverInfo;
  if (typeof name !== 'string') throw broken(method, 'serverInfo.name is missing or no text');
  if (typeof version !== 'string') throw broken(method, 'serverInfo.version is missing or no text');
  if (!isObject(capabilities)) throw broken(method, 'capabilities is missing or no object');
  if (instructions !== undefined && instructions !== null && typeof instructions !== 'string') {
    throw broken(method, 'instructions is no text');
  }
  const who = {
    name: storable(name.slice(0, nameLength)),
    version: storable(version.slice(0, nameLength)),
  };
  const rest = bounded(serverInfo, bridgeBounds.serverInfoBytes);
  const can = bounded(capabilities, bridgeBounds.capabilitiesBytes);
  if (!can) throw broken(method, 'capabilities is too large');
  return {
    protocolVersion,
    serverInfo: { ...rest, ...who },
    capabilities: can,
    instructions: typeof instructions === 'string' ? cut(storable(instructions)) : null,
  };
}

/** A copy that a database can hold, or null where it is larger, or nested deeper, than anybody needs. */
function bounded(value: JsonObject, bytes: number): JsonObject | null {
  const copy = copyOf(value, maxDepth);
  const fits = isObject(copy) && Buffer.byteLength(JSON.stringify(copy)) <= bytes;
  return fits ? copy : null;
}

/** `undefined`: nested too deeply. */
function copyOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return undefined;
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).map(([key, of]) => [
      storable(key),
      copyOf(of, depth - 1),
    ]);
    return entries.some(([, of]) => of === undefined) ? undefined : Object.fromEntries(entries);
  }
  const copy = value.map((of) => copyOf(of, depth - 1));
  return copy.includes(undefined) ? undefined : copy;
}

/** Without what PostgreSQL takes in no JSON: the character 0, and halves of characters. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** At the end of a character; a half one is left out by the decoder that waits for its rest. */
function cut(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= bridgeBounds.instructionsBytes) return text;
  return new TextDecoder().decode(bytes.subarray(0, bridgeBounds.instructionsBytes), {
    stream: true,
  });
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return JSON.stringify(storable(text.slice(0, nameLength)));
}

function broken(method: string, what: string): EmergentError {
  return new EmergentError(
    'mcp_failed',
    `the MCP server's answer to ${method} cannot be used: ${what}`,
  );
}
