import { InvalidArgumentError } from 'commander';

export type Pairs = Readonly<Record<string, string>>;

/** For a repeatable option `key=value`; a later pair wins. */
export function collectPair(text: string, before: Pairs | undefined): Pairs {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Write it as key=value.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

/** The same for environment variables; a name alone takes the value from our own environment. */
export function collectVariable(text: string, before: Pairs | undefined): Pairs {
  if (text.includes('=')) return collectPair(text, before);
  const value = process.env[text];
  if (value === undefined) {
    throw new InvalidArgumentError(`Write it as NAME=value; ${text} is not set here.`);
  }
  return { ...before, [text]: value };
}
