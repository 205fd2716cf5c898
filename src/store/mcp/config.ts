import {
  restartPolicies,
  type McpServerConfig,
  type McpTransport,
} from '../../domain/mcp-config.ts';
import type { Row } from '../database.ts';
import {
  boolean,
  integer,
  object,
  objectOrNull,
  oneOf,
  strings,
  stringsOrNull,
  text,
  textOrNull,
} from '../row.ts';

/** The column `mcp_config`. */
export function mcpConfigFrom(row: Row): McpServerConfig | null {
  const config = objectOrNull(row, 'mcp_config');
  if (config === null) return null;
  return {
    name: text(config, 'name'),
    command: textOrNull(config, 'command'),
    args: stringsOrNull(config, 'args'),
    workdir: textOrNull(config, 'workdir'),
    transport: transportFrom(object(config, 'transport')),
    restartPolicy: oneOf(config, 'restart_policy', restartPolicies),
    volumes: strings(config, 'volumes'),
    maxInFlight: integer(config, 'max_in_flight'),
    initializeTimeoutMs: integer(config, 'initialize_timeout_ms'),
    shared: boolean(config, 'shared'),
  };
}

function transportFrom(transport: Row): McpTransport {
  const kind = oneOf(transport, 'kind', ['stdio', 'http']);
  if (kind === 'stdio') return { kind };
  return { kind, port: integer(transport, 'port'), path: text(transport, 'path') };
}

export function encodeMcpConfig(config: McpServerConfig | null): string | null {
  if (config === null) return null;
  return JSON.stringify({
    name: config.name,
    command: config.command,
    args: config.args,
    workdir: config.workdir,
    transport: config.transport,
    restart_policy: config.restartPolicy,
    volumes: config.volumes,
    max_in_flight: config.maxInFlight,
    initialize_timeout_ms: config.initializeTimeoutMs,
    shared: config.shared,
  });
}
