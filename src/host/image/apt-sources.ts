import { runOk } from '../run.ts';

/** One repository that the machine's own apt uses. */
export interface AptSource {
  readonly uri: string;
  readonly suite: string;
  readonly components: readonly string[];
}

const distributions = new Set(['Debian', 'Ubuntu']);
const format = '$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)';

/** The distribution's own repositories; what third parties offer has no place in a base image. */
export async function aptSources(signal?: AbortSignal): Promise<AptSource[]> {
  const { stdout } = await runOk(
    ['apt-get', 'indextargets', '--format', format, 'Identifier: Packages'],
    { timeoutMs: 10_000, signal },
  );
  return parseIndexTargets(stdout);
}

export function parseIndexTargets(text: string): AptSource[] {
  const sources = new Map<string, { uri: string; suite: string; components: Set<string> }>();
  for (const line of text.split('\n')) {
    const [uri = '', suite = '', component = '', origin = ''] = line.trim().split('|');
    if (!distributions.has(origin)) continue;
    const key = `${uri} ${suite}`;
    const source = sources.get(key) ?? { uri, suite, components: new Set<string>() };
    sources.set(key, source);
    source.components.add(component);
  }
  return [...sources.values()].map((source) => ({
    ...source,
    components: [...source.components],
  }));
}

export function sourcesList(sources: readonly AptSource[]): string {
  return sources
    .map(({ uri, suite, components }) => `deb ${uri} ${suite} ${components.join(' ')}\n`)
    .join('');
}

/** How the machine's apt reaches its repositories: proxies, certificates, accepted ages. */
export async function aptTransportOptions(signal?: AbortSignal): Promise<string[]> {
  const { stdout } = await runOk(['apt-config', 'dump'], { timeoutMs: 10_000, signal });
  return parseTransportOptions(stdout);
}

export function parseTransportOptions(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(
      (line) => /^Acquire::(https?::|Check-Valid-Until )/.test(line) && !line.endsWith(' "";'),
    )
    .map((line) => line.replace(/;$/, ''));
}
