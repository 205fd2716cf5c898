import { expect, test } from 'vitest';

import {
  parseIndexTargets,
  parseTransportOptions,
  sourcesList,
} from '../../src/host/image/apt-sources.ts';
import { dockerfile, packageNames, readRecipe, recipeHash } from '../../src/host/image/recipe.ts';

test('the hash follows every word of the recipe, and nothing else', () => {
  const files = new Map([
    ['packages', 'bash\n'],
    ['finish.sh', 'true\n'],
  ]);
  const hash = recipeHash(files);
  expect(hash).toMatch(/^[0-9a-f]{12}$/);
  expect(recipeHash(new Map([...files].reverse()))).toBe(hash);
  expect(recipeHash(new Map(files).set('packages', 'bash\ngit\n'))).not.toBe(hash);
  expect(
    recipeHash(
      new Map([
        ['packagesbash', '\n'],
        ['finish.sh', 'true\n'],
      ]),
    ),
  ).not.toBe(hash);
});

test('the recipe holds the promised tools and becomes a Dockerfile', async () => {
  const recipe = await readRecipe();
  const promised = ['bash', 'coreutils', 'git', 'ripgrep', 'curl', 'ca-certificates', 'procps'];
  expect(recipe.packages).toEqual(
    expect.arrayContaining([...promised, 'python3', 'nodejs', 'build-essential']),
  );
  expect(recipe.tag).toBe(`emergent-workspace:${recipe.hash}`);
  const text = dockerfile(recipe);
  expect(text).toMatch(/^FROM debian:/);
  for (const name of recipe.packages) expect(text).toContain(` ${name} `);
  expect(text).toContain('WORKDIR /workspace');
});

test('comments and empty lines are no packages', () => {
  expect(packageNames('# tools\nbash\n\ngit # versions\n')).toEqual(['bash', 'git']);
});

test("takes the distribution's repositories from apt, and no third party's", () => {
  const text = [
    'http://mirror.example/debian/|stable|main|Debian',
    'http://mirror.example/debian/|stable|contrib|Debian',
    'https://apt.example/node/|nodistro|main|. nodistro',
    'http://mirror.example/security/|stable-security|main|Debian',
    '',
  ].join('\n');
  expect(sourcesList(parseIndexTargets(text))).toBe(
    'deb http://mirror.example/debian/ stable main contrib\n' +
      'deb http://mirror.example/security/ stable-security main\n',
  );
});

test('reaches them as apt does', () => {
  const text = [
    'APT::Architecture "amd64";',
    'Acquire::http "";',
    'Acquire::http::Proxy "http://proxy.example:3128";',
    'Acquire::Check-Valid-Until "false";',
    'Acquire::Languages "none";',
  ].join('\n');
  expect(parseTransportOptions(text)).toEqual([
    'Acquire::http::Proxy "http://proxy.example:3128"',
    'Acquire::Check-Valid-Until "false"',
  ]);
});
