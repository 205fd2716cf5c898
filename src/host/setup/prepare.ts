import { systemClock } from '../../base/clock.ts';
import { findAgent } from '../agent/build.ts';
import type { AgentPaths } from '../agent/build.ts';
import { readRecipe } from '../image/recipe.ts';
import { RootAccess } from '../root.ts';
import type { TriedRuntime } from '../runsc/kept-trial.ts';
import { SetupContext } from './context.ts';
import { lockSetup } from './lock.ts';
import { terminalOutput } from './progress.ts';
import type { SetupOutput } from './progress.ts';
import { runSetupSteps } from './run-steps.ts';
import type { SetupStep, StepResult } from './step.ts';
import { dockerEngine, dockerSettings } from './steps/docker.ts';
import { diskTools } from './steps/disk-tools.ts';
import { goToolchain, guestAgent } from './steps/guest-agent.ts';
import { gvisorRuntime } from './steps/runsc.ts';
import { cCompiler, muslCompiler, networkTools, postgresServer } from './steps/test-tools.ts';
import { workspaceImage } from './steps/workspace-image.ts';

/** What the server and the tests build on. What could not be had is absent, with its reason. */
export interface PreparedHost {
  /** The engine's unix socket; null when DOCKER_HOST names a remote engine, or none answers. */
  readonly dockerSocket: string | null;
  readonly image: string;
  readonly agentPaths: AgentPaths | null;
  readonly runtime: Runtime;
  /** The Go command that builds and tests the agent. */
  readonly go: string | null;
  readonly failures: readonly (StepResult & { state: 'failed' })[];
}

export type Runtime =
  | ({ readonly state: 'present'; readonly reduced: boolean } & TriedRuntime)
  | { readonly state: 'absent'; readonly reason: string; readonly remedy: string };

export interface PrepareOptions {
  /** Also installs what only the tests need. */
  readonly forTests: boolean;
  /** Stops the set-up: children are ended, partial downloads and builds removed. */
  readonly signal?: AbortSignal;
  /** Only looks, and changes nothing. EMERGENT_SKIP_SETUP unless told. */
  readonly skip?: boolean;
  /** Standard error unless told. */
  readonly output?: SetupOutput;
}

/** Installs, starts and builds what is missing on this host, telling what it does, and says what there is. */
export async function prepareHost(options: PrepareOptions): Promise<PreparedHost> {
  const { signal = new AbortController().signal, output = terminalOutput(process.stderr) } =
    options;
  const lookOnly = options.skip ?? skipAsked();
  await using _lock = lookOnly ? undefined : await lockSetup(sayWaiting(output), signal);
  const context = new SetupContext(lookOnly ? new RootAccess('none') : await RootAccess.find());
  const steps = setupSteps(context, options.forTests);
  const results = await runSetupSteps(steps, { output, clock: systemClock, signal, lookOnly });
  return await describe(context, results, signal);
}

const testTools = [postgresServer, cCompiler, muslCompiler, networkTools] as const;

export function setupSteps(context: SetupContext, forTests: boolean): SetupStep[] {
  return [
    dockerEngine(context),
    dockerSettings(context),
    diskTools(context),
    goToolchain(context),
    gvisorRuntime(context),
    guestAgent(context),
    workspaceImage(context),
    ...(forTests ? testTools.map((tool) => tool(context)) : []),
  ];
}

async function describe(
  context: SetupContext,
  results: readonly StepResult[],
  signal: AbortSignal,
): Promise<PreparedHost> {
  const failures = results.filter((result) => result.state === 'failed');
  const endpoint = context.foundEngine?.endpoint;
  const go = await context.findGo(signal);
  return {
    dockerSocket: endpoint?.kind === 'unix' ? endpoint.socketPath : null,
    image: (await readRecipe()).tag,
    agentPaths: go ? ((await findAgent(go)) ?? null) : null,
    runtime: runtimeOf(context, failures),
    go: go?.path ?? null,
    failures,
  };
}

function runtimeOf(
  context: SetupContext,
  failures: readonly (StepResult & { state: 'failed' })[],
): Runtime {
  const { runtime } = context;
  if (runtime) return { state: 'present', reduced: runtime.network === 'host', ...runtime };
  const failure = failures.find(({ name }) => name === gvisorRuntime(context).name);
  return {
    state: 'absent',
    reason: failure?.reason ?? 'no runsc was found',
    remedy: failure?.remedy ?? 'emergent doctor says more',
  };
}

function skipAsked(): boolean {
  return ['1', 'true', 'yes'].includes((process.env['EMERGENT_SKIP_SETUP'] ?? '').toLowerCase());
}

function sayWaiting(output: SetupOutput): () => void {
  return () => {
    output.print('Another set-up is running on this machine; waiting for it.');
  };
}
