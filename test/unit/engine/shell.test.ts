import { expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { missingProgram } from '../../../src/domain/missing-program.ts';
import { withShell } from '../../../src/engine/tools/shell.ts';

const workspace = { image: 'base:1' };
const missing = (name: string): EmergentError =>
  missingProgram(name, `program not found: ${name}`, undefined);

test('runs bash where there is one', async () => {
  expect(await withShell(workspace, (shell) => Promise.resolve(shell))).toBe('/bin/bash');
});

test('runs sh where there is no bash', async () => {
  const run = vi.fn((shell: string) => Promise.resolve(shell));
  run.mockRejectedValueOnce(missing('/bin/bash'));
  expect(await withShell(workspace, run)).toBe('/bin/sh');
});

test('names an image that has neither', async () => {
  const failing = withShell(workspace, (shell) => Promise.reject(missing(shell)));
  await expect(failing).rejects.toMatchObject({
    ...{ code: 'no_shell', message: 'the image "base:1" has neither /bin/bash nor /bin/sh' },
    hint: expect.stringContaining('"base:1"') as string,
  });
});

test('leaves any other refusal as it is', async () => {
  const refusal = new EmergentError('invalid_value', 'workdir: /x does not exist');
  const run = vi.fn(() => Promise.reject(refusal));
  await expect(withShell(workspace, run)).rejects.toBe(refusal);
  expect(run).toHaveBeenCalledOnce();
});
