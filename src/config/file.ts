import { readFile, stat } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { reasonOf } from '../base/reason.ts';
import { ConfigError } from './config-error.ts';
import { configFileSetting, settings } from './settings.ts';

export interface ConfigFile {
  readonly values: Readonly<Record<string, string>>;
  /** What is wrong with its form and its names; the values are for others to judge. */
  readonly problems: readonly string[];
}

const largestBytes = 2 ** 20;

/** Undefined: there is none. Throws a ConfigError when there is one that cannot be read. */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  const text = await textOf(path);
  if (text === undefined) return undefined;
  return {
    values: parseEnv(text) as Record<string, string>,
    problems: problemsOf(text).map((problem) => `${path}: ${problem}`),
  };
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    // Before it is opened: a pipe would keep whoever opens it waiting.
    const found = await stat(path);
    if (!found.isFile()) throw new Error('is not a file');
    if (found.size > largestBytes) throw new Error('is larger than 1 MiB');
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    const notText = code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
    const reason = notText ? 'is not UTF-8 text' : reasonOf(error);
    throw new ConfigError([`${path}: ${reason}`], { cause: error });
  }
}

const known = new Set(settings.map(({ name }) => name));

/**
 * What `parseEnv` would pass over without a word: lines that are no settings, names that mean nothing, names that
 * are there twice.
 */
function problemsOf(text: string): readonly string[] {
  const problems: string[] = [];
  const lineOf = new Map<string, number>();
  for (const { line, name, unclosed } of assignments(text)) {
    const at = `line ${String(line)}`;
    if (unclosed) problems.push(`${at}: the quotation mark is not closed`);
    if (name === undefined) {
      problems.push(`${at}: is not NAME=value`);
      continue;
    }
    const before = lineOf.get(name);
    if (before !== undefined) problems.push(`${at}: ${name} is in line ${String(before)} already`);
    lineOf.set(name, line);
    if (name === configFileSetting) {
      problems.push(`${at}: ${name} names this file, and belongs into the environment`);
    } else if (!known.has(name)) {
      problems.push(`${at}: unknown setting ${name}${suggestion(name)}`);
    }
  }
  return problems;
}

interface Assignment {
  readonly line: number;
  /** Undefined: the line is neither a setting nor empty nor a comment. */
  readonly name: string | undefined;
  readonly unclosed: boolean;
}

/** A value in quotation marks may go on over several lines, as long as they are closed again. */
function* assignments(text: string): Generator<Assignment> {
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index += 1) {
    const content = lines[index] ?? '';
    if (/^\s*(?:#|$)/.test(content)) continue;
    const { name, rest = '' } =
      /^\s*(?:export\s+)?(?<name>[A-Za-z_]\w*)\s*=\s*(?<rest>.*)$/.exec(content)?.groups ?? {};
    const quote = /^["'`]/.exec(rest)?.[0];
    const isLong = quote !== undefined && !rest.includes(quote, 1);
    const end = isLong
      ? lines.findIndex((later, at) => at > index && later.includes(quote))
      : index;
    yield { line: index + 1, name, unclosed: end < 0 };
    index = Math.max(index, end);
  }
}

/** The known name that differs least, if it does not differ much. */
function suggestion(name: string): string {
  const [nearest] = [...known]
    .map((candidate) => ({ candidate, distance: distance(name.toUpperCase(), candidate) }))
    .toSorted((a, b) => a.distance - b.distance);
  return nearest && nearest.distance <= 3 ? `; did you mean ${nearest.candidate}?` : '';
}

/** How many letters must be added, removed or replaced. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let at = 0; at < to.length; at += 1) {
      const replaced = (row[at] ?? 0) + (from[index] === to[at] ? 0 : 1);
      next.push(Math.min((row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
