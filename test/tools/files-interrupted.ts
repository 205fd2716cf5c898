import { expect, test } from 'vitest';
import { Random } from '../chaos/random.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import type { FileBench } from './files.suite.ts';
import { FileTools } from './support/file-tools.ts';
import { changes, interrupt } from './support/interrupt.ts';

/** `edit` and `write` that end in the middle: the file is always the old or the new one. */
export function interruptedTests({ tools, subject }: FileBench): void {
  test.for(changes)('$name, given up by the caller 100 times', async ({ change }) => {
    const random = new Random(4);
    const tally = { old: 0, new: 0 };
    const path = 'interrupted/file';
    for (let round = 0; round < 100; round++) {
      const given = new AbortController();
      const left = await interrupt({
        tools: tools(),
        path,
        change: (contents) => change(tools(), path, contents, given.signal),
        at: random.next(),
        stop: async () => {
          given.abort();
        },
      });
      tally[left]++;
    }
    // Otherwise the moments were badly chosen, and nothing is shown.
    expect(Math.min(tally.old, tally.new), JSON.stringify(tally)).toBeGreaterThan(0);
    expect(await tools().read('interrupted')).toMatchObject({ entries: ['file'] });
  });

  test('and when the sandbox is killed', { timeout: 180_000 }, async (context) => {
    const { provider, image, kill } = subject();
    if (!kill) context.skip('a sandbox without isolation cannot be killed');
    const spec = newSpec(image);
    await using sandbox = new TestSandbox(provider, spec);
    await provider.create(spec, soon());
    const own = new FileTools(sandbox);
    const random = new Random(5);
    for (const { change } of [...changes, ...changes]) {
      await interrupt({
        tools: own,
        path: 'file',
        change: (contents) => change(own, 'file', contents, soon()),
        at: random.next(),
        stop: async () => {
          await kill?.(spec);
          await provider.stop(spec, soon());
          await provider.resume(spec, spec, soon());
        },
      });
      // Neither has what was being written stayed where writing is done.
      expect(JSON.stringify(await own.read('.'))).not.toContain('.emergent-');
    }
  });
}
