import { z } from 'zod';
import { restartPolicies } from '../../domain/mcp-config.ts';
import type { McpServerConfig } from '../../domain/mcp-config.ts';
import type { RegisterMcpServer } from '../../domain/mcp.ts';
import { volumePathProblem, volumePathsProblem } from '../../domain/volume-path.ts';
import { networkModes } from '../../domain/workspace.ts';
import { image, resourceLimits, toLimits } from './create-workspace.ts';
import { env } from './env.ts';
import { mcpName } from './mcp-ref.ts';
import { metadata } from './metadata.ts';
import { text } from './text.ts';

const maxArguments = 256;
const maxVolumes = 16;
const defaultPath = '/mcp';

const argument = z
  .string()
  .max(128 * 1024)
  .refine((value) => !value.includes('\0'), 'must not contain NUL bytes')
  .refine((value) => value.isWellFormed(), 'must be well-formed Unicode');

const volume = text(255).superRefine((path, context) => {
  const problem = volumePathProblem(path);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

const volumes = z
  .array(volume)
  .max(maxVolumes)
  .superRefine((paths, context) => {
    const problem = volumePathsProblem(paths);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

export const registerMcpServerBody = z
  .strictObject({
    name: mcpName,
    image: image.optional().describe("The server's default unless told."),
    command: text(4096).optional().describe("In place of the image's own entry point."),
    args: z
      .array(argument)
      .max(maxArguments)
      .optional()
      .describe("In place of the image's own arguments."),
    workdir: text(4096)
      .startsWith('/', 'must be an absolute path')
      .optional()
      .describe("In place of the image's own."),
    env: env.default({}).describe('Encrypted where it is kept, and never shown.'),
    stdio_bridge: z
      .boolean()
      .default(true)
      .describe('false: it serves Streamable HTTP itself, on `port`.'),
    port: z.int().min(1).max(65535).optional(),
    path: text(1024)
      .regex(/^\/[^\s?#]*$/, 'must be the path of a URL, without query')
      .optional()
      .describe(`Where it serves HTTP; "${defaultPath}" unless told.`),
    restart_policy: z
      .enum(restartPolicies)
      .default('on-failure')
      .describe('An exit with 0 is followed by a restart only under "always".'),
    volumes: volumes.default([]).describe('Absolute paths whose files outlive the container.'),
    resource_limits: resourceLimits.default({}),
    network: z.enum(networkModes).default('isolated'),
    provider: text(64).default('auto').describe('A provider by name, or "auto".'),
    max_in_flight: z
      .int()
      .min(1)
      .max(256)
      .default(16)
      .describe('How many calls it is given at once; 1 serialises.'),
    initialize_timeout_ms: z.int().min(1_000).max(300_000).default(30_000),
    shared: z.boolean().default(false).describe('Every token may use it.'),
    metadata: metadata.default({}),
  })
  .superRefine(({ stdio_bridge: stdio, port, path }, context) => {
    const refuse = (name: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [name], message });
    };
    if (!stdio && port === undefined) refuse('port', 'is needed where stdio_bridge is false');
    if (stdio && port !== undefined) refuse('port', 'needs stdio_bridge to be false');
    if (stdio && path !== undefined) refuse('path', 'needs stdio_bridge to be false');
  })
  .meta({ id: 'RegisterMcpServer' });

type Body = z.output<typeof registerMcpServerBody>;

export function toRegistration(body: Body): RegisterMcpServer {
  return {
    config: toConfig(body),
    ...(body.image !== undefined && { image: body.image }),
    provider: body.provider,
    env: body.env,
    limits: toLimits(body.resource_limits),
    network: body.network,
    metadata: body.metadata,
  };
}

function toConfig(body: Body): McpServerConfig {
  return {
    name: body.name,
    command: body.command ?? null,
    args: body.args ?? null,
    workdir: body.workdir ?? null,
    transport:
      body.port === undefined
        ? { kind: 'stdio' }
        : { kind: 'http', port: body.port, path: body.path ?? defaultPath },
    restartPolicy: body.restart_policy,
    volumes: body.volumes,
    maxInFlight: body.max_in_flight,
    initializeTimeoutMs: body.initialize_timeout_ms,
    shared: body.shared,
  };
}
