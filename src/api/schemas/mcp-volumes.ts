import { z } from 'zod';
import type { KeptVolumes } from '../../domain/mcp.ts';
import { flag, id, timestamp } from './text.ts';

const keptVolumes = z
  .object({
    id: id.describe('The id that the server had, and the next one of this name has again.'),
    owner: z.string(),
    name: z.string(),
    provider: z.string(),
    paths: z.array(z.string()),
    kept_at: timestamp,
  })
  .meta({
    id: 'McpKeptVolumes',
    description: 'Files of a deleted server. One of the same owner and name gets them again.',
  });

export const keptVolumesList = z
  .object({ items: z.array(keptVolumes) })
  .meta({ id: 'McpKeptVolumesList' });

export const deleteMcpServerQuery = z.strictObject({
  keep_volumes: flag
    .default(false)
    .describe('true: the files in its volumes stay, for the next server of this name.'),
});

export const deletedMcpServer = z
  .object({ id, status: z.literal('destroyed'), kept_volumes: keptVolumes.nullable() })
  .meta({ id: 'DeletedMcpServer' });

export function presentKeptVolumes(from: KeptVolumes): z.output<typeof keptVolumes> {
  return {
    id: from.id,
    owner: from.owner,
    name: from.name,
    provider: from.provider,
    paths: [...from.paths],
    kept_at: from.keptAt.toISOString(),
  };
}
