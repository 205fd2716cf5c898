import type { PoolDefinition, StoredPool } from '../../domain/warm-pool.ts';
import { networkModes } from '../../domain/workspace.ts';
import type { Row } from '../database.ts';
import { integer, object, oneOf, text } from '../row.ts';
import { limitsFrom, limitsObject } from '../workspaces/row.ts';

export function poolFrom(row: Row): StoredPool {
  return {
    definition: definitionFrom(text(row, 'name'), object(row, 'configured')),
    size: integer(row, 'size'),
    release: text(row, 'release'),
  };
}

/** The column `configured` holds what the name, which is the row's key, is not part of. */
function definitionFrom(name: string, configured: Row): PoolDefinition {
  return {
    name,
    size: integer(configured, 'size'),
    provider: text(configured, 'provider'),
    image: text(configured, 'image'),
    limits: limitsFrom(configured),
    network: oneOf(configured, 'network', networkModes),
  };
}

export function configuredObject(definition: PoolDefinition): Readonly<Record<string, unknown>> {
  const { size, provider, image, network, limits } = definition;
  return { size, provider, image, network, resource_limits: limitsObject(limits) };
}
