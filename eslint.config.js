import { readdirSync } from 'node:fs';
import { defineConfig } from 'eslint/config';
import importX, { createNodeResolver } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

// What each room under src/ may import, besides itself. main.ts has no row: it alone knows every part.
const rooms = {
  base: [],
  domain: ['base'],
  'config.ts': ['config', 'domain', 'base'],
  config: ['domain', 'base'],
  engine: ['domain', 'base'],
  store: ['domain', 'base'],
  host: ['domain', 'base'],
  microvm: ['domain', 'base'],
  providers: ['domain', 'base'],
  api: ['engine', 'domain', 'base'],
  cli: ['base', 'host', 'config.ts', 'main.ts'],
};

const advice = {
  base: 'base/ knows nothing of workspaces: move what it needs into base/, or pass it in.',
  domain: 'domain/ imports base/ only: describe what it needs as an interface in domain/.',
  'config.ts': 'config.ts imports domain/ and base/ only: let main.ts pass the values on.',
  config: 'config/ imports domain/ and base/ only: let main.ts pass the values on.',
  engine: 'engine/ imports domain/ and base/ only: use the contract in domain/; main.ts wires it.',
  store: 'store/ imports domain/ and base/ only: implement the contract in domain/store.ts.',
  host: 'host/ imports domain/ and base/ only: take what it needs as a parameter.',
  microvm: 'microvm/ imports domain/ and base/ only: the provider reaches it over its API.',
  providers: 'providers/ import domain/ and base/ only: implement domain/provider.ts.',
  api: 'api/ imports engine/, domain/ and base/ only: reach providers and the store by the engine.',
  cli: 'cli/ talks HTTP: use its client; it may import base/, host/, config.ts and main.ts only.',
};

const roomZones = Object.entries(rooms).map(([room, others]) => ({
  target: `./src/${room}`,
  from: './src',
  except: [room, ...others].map((name) => `./${name}`),
  message: advice[room],
}));

// Read from the disk, so that a new provider's folder is guarded without a change here.
const providerZones = readdirSync(new URL('src/providers', import.meta.url)).map((name) => ({
  target: `./src/providers/${name}`,
  from: './src/providers',
  except: [...new Set([`./${name}`, './guest'])],
  message: 'Providers never import each other: what they share lives in providers/guest.',
}));

const outsideZones = [
  { target: './src', from: './test', message: 'src/ never imports tests: move it into src/.' },
  {
    target: './src',
    from: './bench',
    message: 'src/ never imports benchmarks: move it into src/.',
  },
];

const clock = 'Use a Clock from base/clock.ts (or withDeadline from base/deadline.ts).';
const timers = ['setTimeout', 'setInterval'];
const timeIsAParameter = {
  'no-restricted-globals': ['error', ...timers.map((name) => ({ name, message: clock }))],
  'no-restricted-properties': [
    'error',
    { object: 'Date', property: 'now', message: clock },
    { object: 'performance', property: 'now', message: clock },
    ...timers.map((property) => ({ object: 'globalThis', property, message: clock })),
  ],
  'no-restricted-syntax': [
    'error',
    { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: clock },
    { selector: 'CallExpression[callee.name="Date"]', message: clock },
  ],
};
const timerModules = [
  { name: 'node:timers', message: clock },
  { name: 'node:timers/promises', message: clock },
];

// The engine and the contracts never see a back end's types.
const backEndPackages = [
  'dockerode',
  'pg',
  '@electric-sql/*',
  '@connectrpc/*',
  'fastify',
  '@fastify/*',
];

const testFunction = '/^(it|test|describe|suite|verifies)$/';
const honestTests = {
  'no-restricted-syntax': [
    'error',
    {
      selector: `MemberExpression[object.name=${testFunction}][property.name="only"]`,
      message: 'Commit no .only: name the file or use -t on the command line.',
    },
    {
      selector: `MemberExpression[object.name=${testFunction}][property.name=/^(skip|skipIf|runIf|todo|fails)$/]`,
      message: 'No silent skips: call context.skip("why") inside the test; the reporter counts it.',
    },
    {
      selector: 'CallExpression[callee.property.name="skip"][arguments.length=0]',
      message: 'Say why: context.skip("reason"). The reporter prints it.',
    },
    {
      selector: 'Property[key.name=/^(retry|repeats)$/]',
      message: 'No retries: find the race and wait for the event.',
    },
    {
      selector:
        'CallExpression[callee.object.name="vi"][callee.property.name=/^(waitFor|waitUntil)$/][arguments.length=1]',
      message: 'A second is short on a loaded machine: use eventually of test/support.',
    },
  ],
  'no-restricted-globals': [
    'error',
    ...timers.map((name) => ({
      name,
      message: 'No sleeps: wait for an event, poll with eventually, or use FakeClock.',
    })),
  ],
  'no-restricted-imports': [
    'error',
    { paths: timerModules.map(({ name }) => ({ name, message: 'No sleeps: wait for an event.' })) },
  ],
};

export default defineConfig(
  { ignores: ['node_modules/', '.cache/', 'src/providers/guest/gen/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    settings: {
      // Without these two, no-cycle reads no .ts file and reports nothing.
      'import-x/extensions': ['.ts', '.js'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts', '.js'] })],
    },
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-restricted-paths': [
        'error',
        { zones: [...roomZones, ...providerZones, ...outsideZones], basePath: import.meta.dirname },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { ignoreUsingDeclarations: true, ignoreRestSiblings: true },
      ],
      // An async method of a contract may have nothing to await; `async` still turns throws into rejections.
      '@typescript-eslint/require-await': 'off',
      // It rejects Promise.withResolvers<void>().
      '@typescript-eslint/no-invalid-void-type': 'off',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/base/**'],
    rules: { ...timeIsAParameter, 'no-restricted-imports': ['error', { paths: timerModules }] },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/cli/**', 'src/main.ts'],
    rules: { 'no-console': ['error'] },
  },
  {
    files: ['src/domain/**/*.ts', 'src/engine/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: timerModules,
          patterns: [
            {
              group: backEndPackages,
              message: 'Use the contract in domain/: back ends stay behind it.',
            },
          ],
        },
      ],
    },
  },
  { files: ['test/**/*.ts'], ignores: ['test/support/**'], rules: honestTests },
);
