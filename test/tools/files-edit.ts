import { expect, test } from 'vitest';
import type { WorkspaceProvider } from '../../src/domain/provider.ts';
import { editTool } from '../../src/engine/tools/edit.ts';
import { soon } from '../conformance/sandbox.ts';
import type { FileBench } from './files.suite.ts';

export function editTests({ tools }: FileBench): void {
  const put = (path: string, content: string): Promise<unknown> =>
    tools().sandbox.write(path, Buffer.from(content, 'latin1'));

  test('replaces one text, and nothing else', async () => {
    await put('edit/plain', 'one two three');
    expect(await tools().edit('edit/plain', 'two', '2')).toEqual({
      ...{ path: '/workspace/edit/plain', size: 11, replacements: 1 },
    });
    expect(await tools().text('edit/plain')).toBe('one 2 three');
    expect(await tools().edit('edit/plain', 'one 2 three', '')).toMatchObject({ size: 0 });
  });

  test('needs the text, once', async () => {
    await put('edit/found', 'a b a b a');
    await expect(tools().edit('edit/found', 'A', 'x')).rejects.toMatchObject({
      ...{ code: 'no_match', message: 'oldString not found in content' },
    });
    await expect(tools().edit('edit/found', 'a', 'x')).rejects.toMatchObject({
      ...{ code: 'multiple_matches', message: 'Found multiple matches for oldString' },
      details: { matches: 3 },
    });
    await put('edit/overlap', '-aaa-');
    const overlap = { code: 'multiple_matches', details: { matches: 2 } };
    await expect(tools().edit('edit/overlap', 'aa', 'b')).rejects.toMatchObject(overlap);
    expect(await tools().text('edit/found')).toBe('a b a b a');
    expect(await tools().text('edit/overlap')).toBe('-aaa-');
  });

  test('replaces all from left to right', async () => {
    await put('edit/all', 'aaaaa $& $1');
    const all = await tools().edit('edit/all', 'aa', '$&', { replaceAll: true });
    expect(all).toMatchObject({ replacements: 2 });
    expect(await tools().text('edit/all')).toBe('$&$&a $& $1');
    const none = tools().edit('edit/all', 'b', 'c', { replaceAll: true });
    await expect(none).rejects.toMatchObject({ code: 'no_match' });
  });

  test('refuses what would change nothing', async () => {
    await put('edit/same', 'a');
    const refused = { code: 'invalid_value' };
    await expect(tools().edit('edit/same', 'a', 'a')).rejects.toMatchObject(refused);
    await expect(tools().edit('edit/same', '', 'a')).rejects.toMatchObject(refused);
  });

  test('leaves line endings and bytes that are no text as they are', async () => {
    await put('edit/bytes', '\xff\xfe one\r\ntwo\nthree\0\xe9');
    await tools().edit('edit/bytes', 'one\r\ntwo', 'é');
    expect(await tools().text('edit/bytes')).toBe('\xff\xfe \xc3\xa9\nthree\0\xe9');
    await put('edit/crlf', 'one\r\ntwo\r\n');
    const across = tools().edit('edit/crlf', 'one\ntwo', 'x');
    await expect(across).rejects.toMatchObject({ code: 'no_match' });
  });

  test('works in a file of 10 MB', async () => {
    const content = 'some line of text\n'.repeat(600_000);
    await put('edit/large', `${content}the end`);
    expect(await tools().edit('edit/large', 'text\nthe end', 'new')).toMatchObject({
      replacements: 1,
    });
    const all = await tools().edit('edit/large', 'line', 'row', { replaceAll: true });
    expect(all).toMatchObject({ replacements: 600_000 });
    const expected = `${content.slice(0, -5)}new`.replaceAll('line', 'row');
    expect((await tools().text('edit/large')) === expected).toBe(true);
  });

  test('a file that is not there is not made', async () => {
    const missing = tools().edit('edit/missing', 'a', 'b');
    await expect(missing).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(tools().read('edit/missing')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  /** The sandbox's provider, with something done behind every reading of an edit. */
  function disturbed(
    afterRead: () => Promise<unknown>,
  ): Pick<WorkspaceProvider, never> & WorkspaceProvider {
    const { provider } = tools().sandbox;
    return new Proxy(provider, {
      get(target, name) {
        if (name !== 'readFile') {
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        }
        const readFile: WorkspaceProvider['readFile'] = async (...call) => {
          const file = await target.readFile(...call);
          const content = await Array.fromAsync(file.content);
          await afterRead();
          return {
            ...file,
            content: (async function* () {
              yield* content;
            })(),
          };
        };
        return readFile;
      },
    });
  }

  test.each([
    ['by a command', 'echo theirs >> raced/file'],
    [
      'by another that puts a new file in its place',
      'echo theirs | cat raced/file - > raced/new; mv raced/new raced/file',
    ],
  ])('a change made meanwhile %s is not lost', async (_how, script) => {
    await put('raced/file', 'mine\n');
    let times = 0;
    const provider = disturbed(async () => {
      times++;
      if (times <= 2) await tools().sandbox.sh(script);
    });
    const request = {
      path: 'raced/file',
      oldString: 'mine',
      newString: 'edited',
      replaceAll: false,
    };
    const target = { provider, ref: tools().sandbox.spec };
    expect(await editTool(target, request, soon())).toMatchObject({ replacements: 1 });
    expect(times).toBe(3);
    expect(await tools().text('raced/file')).toBe('edited\ntheirs\ntheirs\n');
  });

  test('one who always gets in the way wins', async () => {
    await put('raced/always', 'mine\n');
    let times = 0;
    const provider = disturbed(async () => {
      times++;
      await tools().sandbox.sh('echo theirs >> raced/always');
    });
    const request = {
      path: 'raced/always',
      oldString: 'mine',
      newString: 'edited',
      replaceAll: false,
    };
    const target = { provider, ref: tools().sandbox.spec };
    const refused = { code: 'file_changed' };
    await expect(editTool(target, request, soon())).rejects.toMatchObject(refused);
    expect(times).toBe(3);
    expect(await tools().text('raced/always')).toBe('mine\ntheirs\ntheirs\ntheirs\n');
  });

  test('of many edits at once each is made once or refused', async () => {
    const marks = Array.from({ length: 20 }, (_, index) => `[${String(index).padStart(2, '0')}]`);
    await put('raced/many', marks.join(''));
    const outcomes = await Promise.allSettled(
      marks.map((mark) =>
        tools().edit('raced/many', mark, mark.replace('[', '<').replace(']', '>')),
      ),
    );
    const expected = marks.map((mark, index) => {
      const outcome = outcomes[index];
      if (outcome?.status === 'fulfilled') return mark.replace('[', '<').replace(']', '>');
      expect(outcome?.reason).toMatchObject({ code: 'file_changed' });
      return mark;
    });
    expect(await tools().text('raced/many')).toBe(expected.join(''));
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(await tools().read('raced')).not.toMatchObject({
      entries: expect.arrayContaining([expect.stringContaining('.tmp')]) as unknown,
    });
  });
}
