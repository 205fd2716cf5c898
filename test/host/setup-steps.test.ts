import { expect, test } from 'vitest';

import { systemClock } from '../../src/base/clock.ts';
import { NeedsRootError } from '../../src/host/root.ts';
import { lockSetup } from '../../src/host/setup/lock.ts';
import { runSetupSteps } from '../../src/host/setup/run-steps.ts';
import type { RunStepsOptions } from '../../src/host/setup/run-steps.ts';
import type { SetupStep, StepResult } from '../../src/host/setup/step.ts';

class Host {
  readonly there = new Set<string>();
  readonly ran: string[] = [];
  readonly lines: string[] = [];

  step(name: string, changes: Partial<SetupStep> = {}): SetupStep {
    return {
      name,
      why: `${name} is needed`,
      after: [],
      remedy: `install ${name}`,
      needed: async () => (this.there.has(name) ? false : 'missing'),
      run: async () => {
        this.ran.push(name);
        this.there.add(name);
      },
      ...changes,
    };
  }

  failing(name: string, error: Error): SetupStep {
    return this.step(name, {
      run: async () => {
        this.ran.push(name);
        throw error;
      },
    });
  }

  async prepare(
    steps: readonly SetupStep[],
    changes: Partial<RunStepsOptions> = {},
  ): Promise<readonly StepResult[]> {
    const output = { print: (line: string) => void this.lines.push(line) };
    const signal = new AbortController().signal;
    return runSetupSteps(steps, { output, clock: systemClock, signal, ...changes });
  }
}

const states = (results: readonly StepResult[]): string[] => results.map(({ state }) => state);

test('runs what is missing, in order, and nothing the second time', async () => {
  const host = new Host();
  host.there.add('engine');
  const steps = ['engine', 'runtime', 'image'].map((name) => host.step(name));

  expect(states(await host.prepare(steps))).toEqual(['there', 'done', 'done']);
  expect(host.ran).toEqual(['runtime', 'image']);

  host.lines.length = 0;
  expect(states(await host.prepare(steps))).toEqual(['there', 'there', 'there']);
  expect(host.ran).toEqual(['runtime', 'image']);
  expect(host.lines).toEqual(['✓ already there: engine, runtime, image']);
});

test('a failed step stops those that need it, and no others', async () => {
  const host = new Host();
  const results = await host.prepare([
    host.failing('engine', new Error('no space')),
    host.step('runtime', { after: ['engine'] }),
    host.step('image', { after: ['runtime'] }),
    host.step('agent'),
  ]);

  expect(states(results)).toEqual(['failed', 'failed', 'failed', 'done']);
  expect(host.ran).toEqual(['engine', 'agent']);
  expect(results[0]).toMatchObject({ reason: 'no space', remedy: 'install engine' });
  expect(results[1]).toMatchObject({ reason: 'needs engine' });
  expect(host.lines).toContain('✗ engine: no space');
  expect(host.lines).toContain('  → install engine');
});

test('without root it names the command to run as root', async () => {
  const host = new Host();
  const [result] = await host.prepare([
    host.failing('engine', new NeedsRootError(['apt-get', 'install', 'docker.io'])),
  ]);
  expect(result).toMatchObject({
    state: 'failed',
    remedy: expect.stringContaining('run as root: apt-get install docker.io') as string,
  });
});

test('only looking changes nothing and prints nothing', async () => {
  const host = new Host();
  host.there.add('engine');
  const results = await host.prepare([host.step('engine'), host.step('image')], { lookOnly: true });
  expect(states(results)).toEqual(['there', 'failed']);
  expect(host.ran).toEqual([]);
  expect(host.lines).toEqual([]);
});

test('an interruption rejects at once and starts no further step', async () => {
  const host = new Host();
  const stop = new AbortController();
  const interrupted = host.step('engine', {
    run: async (_note, signal) => {
      stop.abort(new Error('Ctrl-C'));
      signal.throwIfAborted();
    },
  });
  const preparing = host.prepare([interrupted, host.step('image')], { signal: stop.signal });
  await expect(preparing).rejects.toThrow('Ctrl-C');
  expect(host.ran).toEqual([]);
});

test('a second set-up waits for the first', async () => {
  const name = `emergent-test-${String(process.pid)}`;
  const { signal } = new AbortController();
  const order: string[] = [];
  const waits = Promise.withResolvers<void>();
  const first = await lockSetup(() => undefined, signal, name);
  const second = lockSetup(waits.resolve, signal, name).then((lock) => {
    order.push('second');
    return lock;
  });
  await waits.promise;
  order.push('first');
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
  expect(order).toEqual(['first', 'second']);
});
