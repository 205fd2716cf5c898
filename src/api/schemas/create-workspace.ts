import { z } from 'zod';
import type { CreateWorkspaceRequest } from '../../domain/create-request.ts';
import { imageReferencePattern } from '../../domain/image.ts';
import { parseCpu, parseDisk, parseMemory } from '../../domain/limits.ts';
import { parseRepository } from '../../domain/repository.ts';
import { deploymentModes, networkModes } from '../../domain/workspace.ts';
import { env } from './env.ts';
import { branchName } from './git.ts';
import { metadata } from './metadata.ts';
import { flag, text } from './text.ts';

const tenYears = 10 * 365 * 24 * 60 * 60;

const size = (example: string) => text(32).describe(`Bytes, or with a unit: ${example}.`);

/** Each may be left out. */
export const resourceLimits = z.strictObject({
  cpu: z
    .union([z.number(), text(32)], 'must be a number of cores, such as 2 or "0.5"')
    .describe('Cores, such as 2 or "0.5".')
    .optional(),
  memory: size('"512M", "4G"').optional(),
  disk: size('"10G"').optional(),
});

export const image = text(512).regex(imageReferencePattern, 'is not an image reference');

export const createWorkspaceBody = z
  .strictObject({
    container_type: z
      .literal(
        'agent_workspace',
        'must be "agent_workspace"; MCP servers are registered at /mcp/servers',
      )
      .optional()
      .describe('What the workspace is for.'),
    provider: text(64)
      .default('auto')
      .describe('A provider by name, or "auto": the best healthy one.'),
    deployment_mode: z.enum(deploymentModes).optional(),
    image: image.optional(),
    resource_limits: resourceLimits.default({}),
    network: z.enum(networkModes).default('nat'),
    ttl_seconds: z.int().min(60).max(tenYears).optional(),
    env: env.default({}),
    metadata: metadata.default({}),
    agent_session_id: text(255).optional(),
    repository_url: text(2048)
      .optional()
      .describe(
        'Cloned into /workspace before the workspace is ready. A user and password in it are used, and never shown.',
      ),
    branch: branchName.optional().describe('Of the repository; otherwise its default branch.'),
  })
  .refine((body) => body.branch === undefined || body.repository_url !== undefined, {
    path: ['branch'],
    error: 'needs a repository_url',
  })
  .meta({ id: 'CreateWorkspace', description: 'Everything may be left out.' });

export const createWorkspaceQuery = z.strictObject({
  wait: flag
    .default(true)
    .describe('false: answer at once with status "creating"; GET shows how it went on.'),
});

export function toCreateRequest(
  body: z.output<typeof createWorkspaceBody>,
  wait: boolean,
): CreateWorkspaceRequest {
  return {
    provider: body.provider,
    limits: toLimits(body.resource_limits),
    network: body.network,
    wait,
    env: body.env,
    metadata: body.metadata,
    ...(body.deployment_mode && { deploymentMode: body.deployment_mode }),
    ...(body.image !== undefined && { image: body.image }),
    ...(body.ttl_seconds !== undefined && { ttlSeconds: body.ttl_seconds }),
    ...(body.agent_session_id !== undefined && { agentSessionId: body.agent_session_id }),
    ...(body.repository_url !== undefined && {
      repository: {
        ...parseRepository(body.repository_url, 'repository_url'),
        ...(body.branch !== undefined && { branch: body.branch }),
      },
    }),
  };
}

export function toLimits({
  cpu,
  memory,
  disk,
}: z.output<typeof resourceLimits>): CreateWorkspaceRequest['limits'] {
  return {
    ...(cpu !== undefined && { cpu: parseCpu(String(cpu), 'resource_limits.cpu') }),
    ...(memory !== undefined && { memoryBytes: parseMemory(memory, 'resource_limits.memory') }),
    ...(disk !== undefined && { diskBytes: parseDisk(disk, 'resource_limits.disk') }),
  };
}
