import { InvalidArgumentError } from 'commander';

/** The signals that the API sends, with the numbers that they have on Linux. */
const signals: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGTERM: 15,
};

/** "TERM", "SIGTERM", "term" or "15". */
export function parseSignal(text: string): string {
  const upper = text.toUpperCase();
  const match = Object.entries(signals).find(
    ([name, number]) => upper === name || `SIG${upper}` === name || text === String(number),
  );
  if (match) return match[0];
  const names = Object.keys(signals).map((name) => name.slice(3));
  throw new InvalidArgumentError(`Allowed are ${names.join(', ')}.`);
}
