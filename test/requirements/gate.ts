import type { Citation } from './citations.ts';
import { capabilities } from './scenario.ts';
import type { Scenario } from './scenario.ts';

/** What is wrong between the scenarios, the tests that cite them, and the number that may be deferred. */
export function gateProblems(
  scenarios: readonly Scenario[],
  citations: readonly Citation[],
  maxDeferred: number,
): string[] {
  const known = new Map(scenarios.map((scenario) => [scenario.id as string, scenario]));
  const cited = new Set(citations.map((citation) => citation.id));
  return [
    ...citations.flatMap((citation) => citationProblems(citation, known)),
    ...scenarios.flatMap((scenario) => scenarioProblems(scenario, cited)),
    ...duplicates(scenarios).map((id) => `${id}: listed twice`),
    ...countProblems(scenarios, maxDeferred),
  ];
}

function citationProblems(
  { file, line, id }: Citation,
  known: ReadonlyMap<string, Scenario>,
): string[] {
  const place = `${file}:${String(line)}`;
  if (id === undefined) return [`${place}: verifies() needs a list of literal ids`];
  return known.has(id) ? [] : [`${place}: no scenario is called ${id}`];
}

function scenarioProblems({ id, status }: Scenario, cited: ReadonlySet<unknown>): string[] {
  if (status === 'covered') return cited.has(id) ? [] : [`${id}: covered, but no test cites it`];
  if (!(status.deferred in capabilities)) return [`${id}: deferred without a known capability`];
  return cited.has(id) ? [`${id}: a test cites it, so its status must be 'covered'`] : [];
}

function duplicates(scenarios: readonly Scenario[]): string[] {
  const ids = scenarios.map(({ id }) => id);
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

function countProblems(scenarios: readonly Scenario[], maxDeferred: number): string[] {
  const deferred = scenarios.filter(({ status }) => status !== 'covered').length;
  if (deferred > maxDeferred) {
    return [`${String(deferred)} scenarios are deferred; at most ${String(maxDeferred)} may be`];
  }
  return deferred < maxDeferred ? [`lower maxDeferred to ${String(deferred)}`] : [];
}
