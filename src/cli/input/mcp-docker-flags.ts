import { NotMappable } from './mcp-expand.ts';

/** One option of `docker run`, by its long name. */
export interface DockerFlag {
  readonly name: string;
  /** Undefined: it takes none. */
  readonly value: string | undefined;
}

const shortNames: Readonly<Record<string, string>> = {
  ...{ i: 'interactive', t: 'tty', d: 'detach', e: 'env', v: 'volume', p: 'publish', w: 'workdir' },
  ...{ u: 'user', m: 'memory', l: 'label', h: 'hostname', a: 'attach', c: 'cpu-shares' },
  ...{ P: 'publish-all', q: 'quiet' },
};

const otherNames: Readonly<Record<string, string>> = { net: 'network' };

const switches = new Set([
  ...['interactive', 'tty', 'detach', 'rm', 'init', 'privileged', 'publish-all', 'quiet'],
  ...['read-only', 'no-healthcheck', 'sig-proxy', 'oom-kill-disable', 'disable-content-trust'],
]);

/**
 * The options in front of the image, and what stands from the image on. Nothing is said about what they mean: an
 * option that is not known is taken to have a value, as most of docker's have.
 */
export function splitDockerRun(args: readonly string[]): {
  readonly flags: readonly DockerFlag[];
  readonly rest: readonly string[];
} {
  const flags: DockerFlag[] = [];
  const left = [...args];
  const valueOf = (name: string, attached: string | undefined): string | undefined => {
    if (switches.has(name)) return attached;
    const value = attached ?? left.shift();
    if (value === undefined) throw new NotMappable(`--${name} of docker run lacks its value`);
    return value;
  };
  for (;;) {
    const word = left.shift();
    if (word === undefined) break;
    if (word === '--') break;
    if (!word.startsWith('-') || word === '-') {
      left.unshift(word);
      break;
    }
    if (word.startsWith('--')) {
      const [given, attached] = splitOnce(word.slice(2));
      const name = otherNames[given] ?? given;
      flags.push({ name, value: valueOf(name, attached) });
    } else {
      flags.push(...shortFlags(word.slice(1), valueOf));
    }
  }
  return { flags, rest: left };
}

/** `-it`, `-eNAME=value`, `-ie NAME`: switches in a row; the first that takes a value takes what follows. */
function shortFlags(
  letters: string,
  valueOf: (name: string, attached: string | undefined) => string | undefined,
): DockerFlag[] {
  const flags: DockerFlag[] = [];
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters.charAt(at);
    const name = shortNames[letter];
    if (name === undefined) throw new NotMappable(`-${letter} of docker run is not understood`);
    if (switches.has(name)) {
      flags.push({ name, value: undefined });
      continue;
    }
    const attached = letters.slice(at + 1).replace(/^=/, '');
    flags.push({ name, value: valueOf(name, attached === '' ? undefined : attached) });
    break;
  }
  return flags;
}

function splitOnce(text: string): [string, string | undefined] {
  const equals = text.indexOf('=');
  return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}
