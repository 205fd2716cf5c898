import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GlobRequest, GrepRequest } from '../../src/domain/search-tools.ts';
import { glob } from '../../src/engine/tools/glob.ts';
import { grep } from '../../src/engine/tools/grep.ts';
import { soon } from '../conformance/sandbox.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { newSandbox, prepare } from './support/sandboxes.ts';
import type { ToolBench } from './support/sandboxes.ts';

/** What glob and grep must find, with the same values on every provider. */
export function searchSuite(name: string, open: () => Promise<ToolBench>): void {
  describe(`search tools on ${name}`, { meta: { runsOn: name } }, () => {
    let bench: ToolBench;
    let sandbox: TestSandbox;
    beforeAll(async () => {
      bench = await open();
      sandbox = await newSandbox(bench);
      await prepare(sandbox, files);
    });
    afterAll(async () => {
      await sandbox.destroy();
      await bench[Symbol.asyncDispose]();
    });

    const target = () => ({ provider: bench.provider, ref: sandbox.spec });
    const globbed = (request: Partial<GlobRequest> & { pattern: string }) =>
      glob(target(), { path: '/workspace', limit: 1000, gitDir: false, ...request }, soon());
    const grepped = (request: Partial<GrepRequest> & { pattern: string }) =>
      grep(
        target(),
        { path: '/workspace', limit: 500, gitDir: false, caseInsensitive: false, ...request },
        soon(),
      );
    const paths = (result: { readonly matches: readonly { readonly path: string }[] }) =>
      result.matches.map(({ path }) => path);

    test('the provider says that it has them', async () => {
      expect((await bench.provider.capabilities()).features.tools).toBe(true);
    });

    describe('glob', () => {
      test('newest first, by name where they are as old', async () => {
        const result = await globbed({ pattern: '**/*.{ts,tsx}' });
        expect(paths(result)).toEqual([
          '/workspace/app/new.ts',
          '/workspace/app/a.tsx',
          '/workspace/app/deep/b.ts',
          '/workspace/old.ts',
        ]);
        expect(result).toMatchObject({ total: 4, truncated: false, unreadable: 0 });
        expect(result.matches[3]).toEqual({
          path: '/workspace/old.ts',
          escaped: false,
          kind: 'file',
          size: 4,
          modifiedAt: new Date('2020-01-01T00:00:00Z'),
        });
      });

      test('no more than asked for, and says so', async () => {
        const result = await globbed({ pattern: '**/*.ts', limit: 1 });
        expect(paths(result)).toEqual(['/workspace/app/new.ts']);
        expect(result).toMatchObject({ total: 3, truncated: true });
      });

      test.each(['app', '/workspace/app', './app/', '/workspace/other/../app'])(
        'in %s',
        async (path) => {
          expect(paths(await globbed({ pattern: '*/*.ts', path }))).toEqual([
            '/workspace/app/deep/b.ts',
          ]);
        },
      );

      test('names that would mean something to a shell', async () => {
        const result = await globbed({ pattern: '*', path: 'hostile' });
        const escaped = result.matches.filter((match) => match.escaped);
        const plain = result.matches.filter((match) => !match.escaped);
        expect(paths({ matches: plain }).sort()).toEqual(
          hostile.map((each) => `/workspace/hostile/${each}`).sort(),
        );
        expect(paths({ matches: escaped })).toEqual(['/workspace/hostile/bad\\xffname']);
      });

      test.each([
        ['-*', '-rf'],
        ['* b', 'a b'],
        ['[$]*', '$(touch pwned)'],
        ['*\n*', 'new\nline'],
        ["*'*", `it's "quoted"`],
      ])('the pattern %j', async (pattern, found) => {
        const result = await globbed({ pattern, path: 'hostile' });
        expect(paths(result)).toEqual([`/workspace/hostile/${found}`]);
      });

      test('links that lead in circles are found and not followed', async () => {
        const result = await globbed({ pattern: '**', path: 'loops' });
        expect(result.matches.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
          'file /workspace/loops/in/file',
          'symlink /workspace/loops/in/up',
          'symlink /workspace/loops/self',
        ]);
      });

      test('.git only when asked', async () => {
        const pattern = '**/HEAD';
        expect(paths(await globbed({ pattern }))).toEqual([]);
        expect(paths(await globbed({ pattern, gitDir: true }))).toEqual(['/workspace/.git/HEAD']);
        expect(paths(await globbed({ pattern, path: '.git' }))).toEqual(['/workspace/.git/HEAD']);
      });

      test('10,000 files', async () => {
        const result = await globbed({ pattern: 'many/**' });
        expect(result).toMatchObject({ total: 10_000, truncated: true });
        expect(result.matches).toHaveLength(1000);
      });

      test.each([
        ['invalid_value', 'pattern: ', { pattern: '[' }],
        ['invalid_value', 'pattern: must be relative', { pattern: '/etc/*' }],
        ['invalid_value', 'path: is not a directory', { pattern: '*', path: 'old.ts' }],
        ['file_not_found', 'gone: ', { pattern: '*', path: 'gone' }],
        ['file_not_found', 'old.ts/x: ', { pattern: '*', path: 'old.ts/x' }],
      ])('%s: %s', async (code, says, request) => {
        await expect(globbed(request)).rejects.toMatchObject({
          code,
          message: expect.stringContaining(says) as string,
        });
      });
    });

    describe('grep', () => {
      test('lines with their places, in the order of paths', async () => {
        const result = await grepped({ pattern: 'needle', path: 'text' });
        expect(result.matches).toEqual([
          match('crlf.txt', 2, 1, 'needle'),
          match('no-end.txt', 1, 8, 'one: a needle'),
          match('no-end.txt', 3, 1, 'needle needle'),
        ]);
        expect(result).toMatchObject({
          ...{ truncated: false, filesSearched: 3, binarySkipped: 1 },
          ...{ linesCut: 0, unreadable: 0 },
        });
      });

      test('the end of a line is before its CR', async () => {
        const result = await grepped({ pattern: '^needle$', path: 'text' });
        expect(result.matches).toEqual([match('crlf.txt', 2, 1, 'needle')]);
      });

      test('upper and lower case', async () => {
        const request = { pattern: 'NEEDLE', path: 'text/no-end.txt' };
        expect((await grepped(request)).matches).toEqual([]);
        const either = await grepped({ ...request, caseInsensitive: true });
        expect(either.matches.map(({ line }) => line)).toEqual([1, 3]);
      });

      test('only in files that are included', async () => {
        const request = { pattern: 'ts' };
        expect(paths(await grepped({ ...request, include: '*.tsx' }))).toEqual([
          '/workspace/app/a.tsx',
        ]);
        expect(paths(await grepped({ ...request, include: 'app/**/*.ts' }))).toEqual([
          '/workspace/app/deep/b.ts',
          '/workspace/app/new.ts',
        ]);
      });

      test('in files with hostile names, and in one with a name that is not UTF-8', async () => {
        const result = await grepped({ pattern: '^hostile$', path: 'hostile' });
        const found = [...hostile.map((each) => [each, false]), ['bad\\xffname', true]] as const;
        expect(
          result.matches.map(({ path, escaped }) => `${path} ${String(escaped)}`).sort(),
        ).toEqual(
          found.map(([each, flag]) => `/workspace/hostile/${String(each)} ${String(flag)}`).sort(),
        );
      });

      test('a line of 10 MB is searched at its beginning and shown in part', async () => {
        const result = await grepped({ pattern: 'x{3}needle|late', path: 'huge.txt' });
        const text = `${'x'.repeat(103)}needle${'y'.repeat(391)}`;
        expect(result.matches).toEqual([
          { ...match('', 1, 999_998, text), path: '/workspace/huge.txt', cut: true },
        ]);
        expect(result.linesCut).toBe(1);
      });

      test('no more than asked for, and says so', async () => {
        const result = await grepped({ pattern: '^[0-9]+$', path: 'many' });
        expect(result.matches).toHaveLength(500);
        expect(result.truncated).toBe(true);
      });

      test('one of 10,000 files', async () => {
        const result = await grepped({ pattern: '^7777$', path: 'many' });
        expect(paths(result)).toEqual(['/workspace/many/7/7777']);
        expect(result).toMatchObject({ truncated: false, filesSearched: 10_000 });
      });

      test('does not wait for a pipe, nor follow links', async () => {
        const result = await grepped({ pattern: 'x', path: 'pipes' });
        expect(paths(result)).toEqual(['/workspace/pipes/file']);
      });

      test.each([
        ['invalid_value', 'pattern: missing closing ): `a(b`', { pattern: 'a(b' }],
        ['invalid_value', 'pattern: invalid', { pattern: 'a(?=b)' }],
        ['invalid_value', 'include: ', { pattern: 'a', include: '{' }],
        ['file_not_found', 'gone: ', { pattern: 'a', path: 'gone' }],
      ])('%s: %s', async (code, says, request) => {
        await expect(grepped(request)).rejects.toMatchObject({
          code,
          message: expect.stringContaining(says) as string,
        });
      });
    });

    test('nothing was run', async () => {
      const { stdout } = await sandbox.sh('find . -name pwned');
      expect(stdout.toString()).toBe('');
    });
  });
}

const hostile = ['a b', `it's "quoted"`, 'new\nline', '$(touch pwned)', '-rf', 'back\\slash', 'ü'];

const match = (file: string, line: number, column: number, text: string) => ({
  ...{ path: `/workspace/text/${file}`, escaped: false },
  ...{ line, column, text, cut: false },
});

const files = `
mkdir -p .git app/deep other text loops/in hostile
echo ref > .git/HEAD
for file in old.ts app/deep/b.ts app/a.tsx app/new.ts; do echo ts. > "$file"; done
printf 'abc\\n' > old.ts
touch -d 2020-01-01T00:00:00Z old.ts
touch -d 2021-01-01T00:00:00Z app/deep/b.ts app/a.tsx
touch -d 2022-01-01T00:00:00Z app/new.ts
printf 'one: a needle\\ntwo\\nneedle needle' > text/no-end.txt
printf 'one\\r\\nneedle\\r\\n' > text/crlf.txt
printf 'needle\\0needle' > text/binary
: > text/empty
echo x > loops/in/file
ln -s .. loops/in/up
ln -s self loops/self
cd hostile
for name in 'a b' "it's \\"quoted\\"" "$(printf 'new\\nline')" '$(touch pwned)' ./-rf 'back\\slash' ü "$(printf 'bad\\377name')"; do
  echo hostile > "$name"
done
cd ..
{ head -c 1000000 /dev/zero | tr '\\0' x; printf needle; head -c 9000000 /dev/zero | tr '\\0' y; echo late; } > huge.txt
mkdir -p many/0 many/1 many/2 many/3 many/4 many/5 many/6 many/7 many/8 many/9
seq 0 9999 | while read -r i; do echo "$i" > "many/\${i#"\${i%?}"}/$i"; done
mkdir pipes
mkfifo pipes/pipe
echo x > pipes/file
ln -s file pipes/link
`;
