import { mkdtemp, rm } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkspaceProvider } from '../../../src/domain/provider.ts';
import { MemoryProvider } from '../../../src/providers/memory/provider.ts';
import { TestSandbox, newSpec, soon } from '../../conformance/sandbox.ts';
import { Installation } from '../../providers/gvisor/support/installation.ts';
import { testHost } from '../../support/host.ts';

/** A provider that the tools are tried on, and an image with git and the tools of a plain Debian. */
export interface ToolBench extends AsyncDisposable {
  readonly provider: WorkspaceProvider;
  readonly image: string;
}

/** The guest agent for this machine. */
export async function agentPath(): Promise<string> {
  const { agentPaths } = await testHost();
  const path = agentPaths?.[arch() === 'arm64' ? 'arm64' : 'amd64'];
  if (path === undefined) throw new Error('the guest agent is not built');
  return path;
}

export async function memoryBench(): Promise<ToolBench> {
  const root = await mkdtemp(join(tmpdir(), 'emergent-tools-'));
  const provider = new MemoryProvider({ root, graceMs: 500, agentPath: await agentPath() });
  return {
    provider,
    image: 'none',
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export async function gvisorBench(): Promise<ToolBench> {
  const installation = await Installation.make();
  return {
    provider: installation.provider,
    image: installation.options.image,
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

export async function newSandbox({ provider, image }: ToolBench): Promise<TestSandbox> {
  const spec = newSpec(image);
  await provider.create(spec, soon());
  return new TestSandbox(provider, spec);
}

/** A shell script that must succeed. */
export async function prepare(sandbox: TestSandbox, script: string): Promise<void> {
  const { exitCode, stderr } = await sandbox.sh(`set -e\n${script}`);
  if (exitCode !== 0) throw new Error(`preparing failed: ${stderr.toString()}`);
}
