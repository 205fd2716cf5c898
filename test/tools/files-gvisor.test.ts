import { expect } from 'vitest';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { verifies } from '../support/verifies.ts';
import { fileToolSuite } from './files.suite.ts';

fileToolSuite('gvisor', async () => {
  const installation = await Installation.make();
  return {
    provider: installation.provider,
    image: installation.options.image,
    kill: async ({ sandboxName }) => {
      await installation.docker.getContainer(sandboxName).kill();
    },
  };
});

verifies(
  ['gvisor/file-operations-via-docker-exec'],
  'each tool for files works through an exec of the engine and answers in its standard form',
  async () => {
    await using server = await ScenarioServer.start();
    const id = await server.create({ network: 'isolated' });
    const call = async (tool: string, body: object): Promise<unknown> => {
      const answer = await server.call('POST', `/${id}/${tool}`, body);
      expect(answer.status, tool).toBe(200);
      return answer.body;
    };
    const path = { file_path: '/workspace/src/a b.txt' };
    expect(await call('write', { ...path, content: 'one\ntwo' })).toEqual({
      ...{ ...path, size: 7, created: true },
    });
    expect(await call('edit', { ...path, old_string: 'two', new_string: '2' })).toEqual({
      ...{ ...path, size: 5, replacements: 1 },
    });
    expect(await call('read', path)).toMatchObject({
      ...{ ...path, kind: 'text', content: '1: one\n2: 2', lines: 2, ends_with_newline: false },
    });
    expect(await call('glob', { pattern: '**/*.txt' })).toMatchObject({
      ...{ matches: [{ path: path.file_path, size: 5 }], truncated: false },
    });
    expect(await call('grep', { pattern: '^o' })).toMatchObject({
      ...{ matches: [{ path: path.file_path, line: 1, text: 'one' }], truncated: false },
    });
    // A sandbox without any network: the engine's exec is the only way in.
    const container = server.docker.getContainer(`emergent-${id}`);
    const { HostConfig: host, ExecIDs: execs } = await container.inspect();
    expect(host.NetworkMode).toBe('none');
    expect(execs?.length).toBeGreaterThan(0);
  },
);
