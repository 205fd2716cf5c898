import { expect, test } from 'vitest';
import { SignalForwarder } from '../../src/cli/remote/signal-forwarder.ts';
import { FakeClock } from '../support/clock.ts';

function forwarderWith(clock: FakeClock): { forwarder: SignalForwarder; sent: string[] } {
  const sent: string[] = [];
  const send = async (processId: string, signal: string): Promise<void> => {
    sent.push(`${processId} ${signal}`);
  };
  return { forwarder: new SignalForwarder({ send, clock }), sent };
}

test('a command that survives SIGTERM gets SIGKILL five seconds later', async () => {
  const clock = new FakeClock();
  const { forwarder, sent } = forwarderWith(clock);
  forwarder.started('7');
  forwarder.receive('SIGINT');
  forwarder.receive('SIGINT');
  await clock.whenSleeping();
  expect(sent).toEqual(['7 SIGINT', '7 SIGTERM']);
  await clock.advance(5_000);
  expect(sent).toEqual(['7 SIGINT', '7 SIGTERM', '7 SIGKILL']);
});

test('a command that ends in time is left alone', async () => {
  const clock = new FakeClock();
  const { forwarder, sent } = forwarderWith(clock);
  forwarder.started('7');
  forwarder.receive('SIGTERM');
  forwarder.receive('SIGTERM');
  await clock.whenSleeping();
  forwarder.ended();
  await clock.advance(5_000);
  forwarder.receive('SIGTERM');
  expect(sent).toEqual(['7 SIGTERM', '7 SIGTERM']);
});

test('signals that come before the command has started wait for it', () => {
  const { forwarder, sent } = forwarderWith(new FakeClock());
  forwarder.receive('SIGINT');
  expect(sent).toEqual([]);
  forwarder.started('9');
  expect(sent).toEqual(['9 SIGINT']);
});

test('nothing is sent to a command that has ended', () => {
  const { forwarder, sent } = forwarderWith(new FakeClock());
  forwarder.started('7');
  forwarder.ended();
  forwarder.receive('SIGINT');
  expect(sent).toEqual([]);
});
