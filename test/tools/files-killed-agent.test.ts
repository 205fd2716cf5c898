import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { editTool } from '../../src/engine/tools/edit.ts';
import { writeTool } from '../../src/engine/tools/write.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { newSpec, soon } from '../conformance/sandbox.ts';
import { TestAgent } from '../guest-link/support/agent.ts';
import { eventually } from '../support/eventually.ts';
import { Moments, Tally, newContents, whichIsLeft } from './support/interrupt.ts';

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

/** In each of two ways: a hundred for each tool. */
const rounds = 50;

test.for(tools.flatMap((tool) => (['link', 'agent'] as const).map((death) => ({ tool, death }))))(
  `$tool leaves the old file or the new one when the $death is killed, ${String(rounds)} times`,
  { timeout: 300_000 },
  async ({ tool, death }) => {
    const moments = new Moments(randomBytes(4).readUInt32LE());
    // The agents' working directory is that of a workspace: it outlives them.
    const workspace = join(directory, tool, death);
    await mkdir(join(workspace, 'in'), { recursive: true });
    // Only a dead agent leaves what it was writing.
    const tally = new Tally(rounds, ['old', 'new', ...(death === 'agent' ? ['left'] : [])]);
    let agent = await TestAgent.start(workspace);
    try {
      for (const round of tally.rounds()) {
        // Of the round's own: an agent that lives may finish what it was told when its caller is gone.
        const place = join(workspace, 'in', String(round));
        const path = join(place, 'file');
        const { dial, token } = agent;
        const sandbox = new GuestSandbox({ dial, token, clock: systemClock });
        await sandbox.writeFile(path, (async function* () {})(), soon());
        const texts = newContents();
        await writeFile(path, texts.before);
        const done = change(tool, sandbox, path, texts).then(
          () => true,
          () => false,
        );
        await moments.next();
        await deaths[death](agent);
        const answered = await done;
        for (const bridge of agent.bridges.splice(0)) bridge.kill();
        moments.wasDone(answered);
        sandbox.close();
        tally.count(whichIsLeft(await readFile(path, 'utf8'), texts, answered));
        expect(await readdir(place)).toEqual(['file']);
        if (death === 'link') continue;
        if ((await readdir(workspace)).length > 1) tally.count('left');
        await agent[Symbol.asyncDispose]();
        agent = await TestAgent.start(workspace);
        await swept(agent);
        expect(await readdir(workspace)).toEqual(['in']);
      }
      // An agent that lives clears up behind itself.
      await eventually(async () => {
        expect(await readdir(workspace)).toEqual(['in']);
      });
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
