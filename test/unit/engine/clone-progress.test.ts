import { describe, expect, test } from 'vitest';
import { CloneProgress } from '../../../src/engine/lifecycle/clone-progress.ts';
import { FakeClock } from '../../support/clock.ts';

describe('how far a clone is', () => {
  test('is read from the last figure that git gave', () => {
    const progress = new CloneProgress(new FakeClock());
    const said =
      'remote: Counting: 100%\rReceiving objects:   3% (1/33)\rReceiving objects:  45% (15/33)\r';
    expect(progress.push(Buffer.from(said))).toEqual({ phase: 'Receiving objects', percent: 45 });
  });

  test('is told every two seconds at most', async () => {
    const clock = new FakeClock();
    const progress = new CloneProgress(clock);
    const at = (percent: number): Buffer =>
      Buffer.from(`Resolving deltas: ${String(percent)}% (1/2)\r`);
    expect(progress.push(at(1))).toEqual({ phase: 'Resolving deltas', percent: 1 });
    await clock.advance(1_999);
    expect(progress.push(at(2))).toBeUndefined();
    await clock.advance(1);
    expect(progress.push(at(3))).toEqual({ phase: 'Resolving deltas', percent: 3 });
  });

  test('is read also where a figure comes in two pieces', () => {
    const progress = new CloneProgress(new FakeClock());
    expect(progress.push(Buffer.from('Updating fi'))).toBeUndefined();
    expect(progress.push(Buffer.from('les:  70% (7/10)'))).toMatchObject({ percent: 70 });
  });

  test('is nothing that git does not say', () => {
    const progress = new CloneProgress(new FakeClock());
    expect(progress.push(Buffer.from('remote: <b>Hacking: 5%</b>\n'))).toBeUndefined();
    expect(progress.push(Buffer.from('Receiving objects: 999%'))).toMatchObject({ percent: 100 });
  });
});
