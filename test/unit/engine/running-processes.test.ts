import { describe, expect, test } from 'vitest';
import { RunningProcesses } from '../../../src/engine/running-processes.ts';
import { FakeProcess } from './support/fake-process.ts';

describe('RunningProcesses', () => {
  test('finds a process by workspace and pid until it is forgotten', () => {
    const running = new RunningProcesses();
    const process = new FakeProcess(7);
    const forget = running.add('w1', process);
    expect(running.find('w1', 7)).toBe(process);
    expect(running.find('w1', 8)).toBeUndefined();
    expect(running.find('w2', 7)).toBeUndefined();
    forget();
    forget();
    expect(running.find('w1', 7)).toBeUndefined();
    expect(running.count).toBe(0);
  });

  test('counts over all workspaces', () => {
    const running = new RunningProcesses();
    const forgets = ['w1', 'w1', 'w2'].map((id, at) => running.add(id, new FakeProcess(at)));
    expect(running.count).toBe(3);
    forgets[0]?.();
    expect(running.count).toBe(2);
    expect(running.find('w1', 1)).toBeDefined();
  });

  test('a pid that is used again belongs to the newer process', () => {
    const running = new RunningProcesses();
    const forgetOld = running.add('w1', new FakeProcess(7));
    const newer = new FakeProcess(7);
    running.add('w1', newer);
    forgetOld();
    expect(running.find('w1', 7)).toBe(newer);
  });

  test('a workspace whose last process ended can run others', () => {
    const running = new RunningProcesses();
    const first = running.add('w1', new FakeProcess(1));
    first();
    const second = new FakeProcess(2);
    running.add('w1', second);
    first();
    expect(running.find('w1', 2)).toBe(second);
  });
});
