import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { editTool } from '../../src/engine/tools/edit.ts';
import { writeTool } from '../../src/engine/tools/write.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { Random } from '../chaos/random.ts';
import { newSpec, soon } from '../conformance/sandbox.ts';
import { TestAgent } from '../guest-link/support/agent.ts';
import { newContents } from './support/interrupt.ts';

// The real agent on this host's own files: what it leaves can be looked at when it is dead.
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'killed-agent-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const tools = ['write', 'edit'] as const;
const deaths = {
  link: (agent: TestAgent) => {
    for (const bridge of agent.bridges) bridge.kill();
  },
  agent: (agent: TestAgent) => agent.kill(),
};

function change(tool: (typeof tools)[number], sandbox: GuestSandbox, path: string, texts: Texts) {
  const provider = new Proxy(new MemoryProvider({ root: directory }), {
    get: (_target, name) => {
      if (name === 'readFile')
        return (_ref: unknown, at: string, signal: AbortSignal) => sandbox.readFile(at, signal);
      return (...[, at, content, signal, options]: Parameters<MemoryProvider['writeFile']>) =>
        sandbox.writeFile(at, content, signal, options);
    },
  });
  const target = { provider, ref: newSpec('none') };
  if (tool === 'write') return writeTool(target, { path, content: texts.after }, soon());
  const [oldString, newString] = [texts.before.slice(0, 32), texts.after.slice(0, 32)];
  return editTool(target, { path, oldString, newString, replaceAll: false }, soon());
}
type Texts = ReturnType<typeof newContents>;

const rounds = 100;

test.for(tools.flatMap((tool) => (['link', 'agent'] as const).map((death) => ({ tool, death }))))(
  `$tool leaves the old file or the new one when the $death is killed, ${String(rounds)} times`,
  { timeout: 300_000 },
  async ({ tool, death }) => {
    const random = new Random(randomBytes(4).readUInt32LE());
    // The agents' working directory is that of a workspace: it outlives them.
    const workspace = join(directory, tool, death);
    const path = join(workspace, 'in/file');
    await mkdir(join(workspace, 'in'), { recursive: true });
    const tally = { old: 0, new: 0, left: 0 };
    let reachMs = 40;
    let agent = await TestAgent.start(workspace);
    try {
      for (let round = 0; round < rounds; round++) {
        const sandbox = new GuestSandbox({
          dial: agent.dial,
          token: agent.token,
          clock: systemClock,
        });
        await sandbox.writeFile(path, (async function* () {})(), soon());
        const texts = newContents();
        await writeFile(path, texts.before);
        const done = change(tool, sandbox, path, texts).then(
          () => true,
          () => false,
        );
        await systemClock.sleep(random.next() * reachMs);
        await deaths[death](agent);
        const answered = await done;
        for (const bridge of agent.bridges.splice(0)) bridge.kill();
        reachMs *= answered ? 0.9 : 1.1;
        sandbox.close();
        const found = await readFile(path, 'utf8');
        if (found !== texts.after) {
          expect(found === texts.before, `${String(found.length)} bytes of neither file`).toBe(
            true,
          );
          expect(answered, 'a change that was answered is there').toBe(false);
        }
        tally[found === texts.after ? 'new' : 'old']++;
        expect(await readdir(join(workspace, 'in'))).toEqual(['file']);
        if (death === 'agent') {
          if ((await readdir(workspace)).length > 1) tally.left++;
          await agent[Symbol.asyncDispose]();
          agent = await TestAgent.start(workspace);
          await swept(agent);
          expect(await readdir(workspace)).toEqual(['in']);
        }
      }
      // Otherwise the moments were badly chosen, and nothing is shown.
      expect(Math.min(tally.old, tally.new), JSON.stringify(tally)).toBeGreaterThan(0);
      if (death === 'agent') expect(tally.left, JSON.stringify(tally)).toBeGreaterThan(0);
      // An agent that lives clears up behind itself.
      if (death === 'link') {
        await vi.waitFor(async () => {
          expect(await readdir(workspace)).toEqual(['in']);
        });
      }
    } finally {
      await agent[Symbol.asyncDispose]();
    }
  },
);

/** Resolves when the agent takes commands: what it does at its start is done. */
async function swept({ dial, token }: TestAgent): Promise<void> {
  const sandbox = new GuestSandbox({ dial, token, clock: systemClock });
  await sandbox.ready(soon());
  sandbox.close();
}
