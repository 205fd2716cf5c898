import { expect, test } from 'vitest';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import type { FileBench } from './files.suite.ts';
import { FileTools } from './support/file-tools.ts';
import { Moments, Tally, changes, interrupt } from './support/interrupt.ts';

const rounds = 100;

/** `edit` and `write` that end in the middle: the file is always the old or the new one. */
export function interruptedTests({ tools, subject }: FileBench): void {
  test.for(changes)(
    `$name, given up by the caller ${String(rounds)} times`,
    { timeout: 180_000 },
    async ({ name, change }) => {
      const moments = new Moments(4);
      const tally = new Tally(rounds, ['old', 'new']);
      const files: string[] = [];
      for (const round of tally.rounds()) {
        const file = `file-${String(round).padStart(3, '0')}`;
        const path = `interrupted/${name}/${file}`;
        const given = new AbortController();
        const left = await interrupt({
          ...{ tools: tools(), path, moments },
          change: (contents) => change(tools(), path, contents, given.signal),
          stop: async () => {
            given.abort();
          },
        });
        tally.count(left);
        files.push(file);
      }
      expect(await tools().read(`interrupted/${name}`)).toMatchObject({ entries: files });
    },
  );

  test('and when the sandbox is killed', { timeout: 180_000 }, async (context) => {
    const { provider, image, kill } = subject();
    if (!kill) context.skip('a sandbox without isolation cannot be killed');
    const spec = newSpec(image);
    await using sandbox = new TestSandbox(provider, spec);
    await provider.create(spec, soon());
    const own = new FileTools(sandbox);
    const moments = new Moments(5);
    for (const { change } of [...changes, ...changes]) {
      await interrupt({
        ...{ tools: own, path: 'file', moments },
        change: (contents) => change(own, 'file', contents, soon()),
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
