import type {
  CallToolResult,
  McpServer,
  ServerContext,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { Caller } from '../../domain/caller.ts';
import type { EmergentError } from '../../domain/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { id } from '../schemas/text.ts';
import type { Call } from './call.ts';
import { ProgressTeller } from './progress.ts';
import type { Progress } from './progress.ts';
import { toolFailure, toolResult } from './result.ts';
import { announced } from './schema.ts';

/** Who serves a tool, and to whom. */
export interface Serving {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly caller: Caller;
  /** Logs a failure as every other request's, and gives it the form for callers. */
  readonly recordFailure: (failure: unknown) => EmergentError;
}

/** What is said of a tool before it is called. */
export interface ToolFacts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
}

/** `S`: what it has to know of whom it is served by. */
export interface Tool<S extends Serving = Serving> {
  readonly facts: ToolFacts;
  addTo(server: McpServer, serving: S): void;
}

interface Definition<Input extends z.ZodType, Output extends z.ZodType, S extends Serving> {
  readonly input: Input;
  readonly output: Output;
  readonly run: (call: Call, input: z.output<Input>, serving: S) => Promise<z.input<Output>>;
  /** For models; without it they read the JSON. */
  readonly text?: (output: z.output<Output>) => string;
}

/** A tool that is not about one workspace, or names it itself. */
export function serverTool<
  Input extends z.ZodType,
  Output extends z.ZodType,
  S extends Serving = Serving,
>(
  facts: ToolFacts,
  { input, output, run, text = JSON.stringify }: Definition<Input, Output, S>,
): Tool<S> {
  const schemas = { inputSchema: announced(input), outputSchema: announced(output) };
  return {
    facts,
    addTo(server, serving) {
      const { name, ...said } = facts;
      server.registerTool(name, { ...said, ...schemas }, (args, context) =>
        answered(serving, context, async (call) => {
          // What arrives here is what `input` has made of the arguments.
          const result = output.parse(await run(call, args as z.output<Input>, serving));
          return toolResult(text(result), result as Record<string, unknown>);
        }),
      );
    },
  };
}

/** By whom the tools of one workspace are served. */
export interface WorkspaceServing extends Serving {
  readonly workspaceId: string;
}

/** A tool for work in a workspace. */
export interface WorkspaceTool {
  /** For the workspace that the endpoint names. */
  readonly here: Tool<WorkspaceServing>;
  /** For the workspace that each call names. */
  readonly anywhere: Tool;
}

interface WorkspaceDefinition<Shape extends z.ZodRawShape, Output extends z.ZodType> {
  readonly input: Shape;
  readonly output: Output;
  readonly run: (
    call: Call,
    workspaceId: string,
    input: z.output<z.ZodObject<Shape, z.core.$strict>>,
  ) => Promise<z.input<Output>>;
  readonly text?: (output: z.output<Output>) => string;
}

export const workspaceId = id.describe('The workspace; list_workspaces tells the ids.');

export function workspaceTool<Shape extends z.ZodRawShape, Output extends z.ZodType>(
  facts: ToolFacts,
  { input, run, ...shared }: WorkspaceDefinition<Shape, Output>,
): WorkspaceTool {
  type Input = z.output<z.ZodObject<Shape, z.core.$strict>>;
  const own = z.strictObject(input);
  const named = z.strictObject({ workspace_id: workspaceId, ...input });
  return {
    here: serverTool(facts, {
      ...shared,
      input: own,
      run: (call, given, serving: WorkspaceServing) => run(call, serving.workspaceId, given),
    }),
    anywhere: serverTool(facts, {
      ...shared,
      input: named,
      run(call, given) {
        const { workspace_id: id, ...rest } = given as { workspace_id: string };
        return run(call, id, rest as Input);
      },
    }),
  };
}

/** Runs one call: with progress where it is asked for, its failure as a result that the model can read. */
async function answered(
  { engine, clock, caller, recordFailure }: Serving,
  { mcpReq }: ServerContext,
  work: (call: Call) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  const send = (params: Progress): Promise<void> =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...params } });
  using progress = progressToken === undefined ? undefined : new ProgressTeller(send, clock);
  try {
    return await work({ engine, caller, clock, signal: mcpReq.signal, progress });
  } catch (failure) {
    return toolFailure(recordFailure(failure));
  }
}
