import type { Scenario } from './scenario.ts';

export type SpecScenario = Omit<Scenario, 'id' | 'status'>;

const requirementLine = /^### Requirement: (?<text>.+)$/;
const scenarioLine = /^#### Scenario: (?<text>.+)$/;
const stepLine = /^- \*\*(?<step>WHEN|THEN)\*\* (?<text>.+)$/;

/** Reads the scenarios out of a spec. A line of a scenario that it does not understand is an error. */
export function readSpec(markdown: string): SpecScenario[] {
  const found: { requirement: string; scenario: string; when: string; then: string }[] = [];
  let requirement = '';
  let inScenario = false;
  for (const line of markdown.split('\n')) {
    const heading = requirementLine.exec(line)?.groups?.['text'];
    const title = scenarioLine.exec(line)?.groups?.['text'];
    const step = stepLine.exec(line)?.groups;
    if (heading !== undefined) {
      requirement = heading;
      inScenario = false;
    } else if (title !== undefined) {
      found.push({ requirement, scenario: title, when: '', then: '' });
      inScenario = true;
    } else if (inScenario && line.trim() !== '') {
      const scenario = found.at(-1);
      const key = step?.['step'] === 'WHEN' ? 'when' : 'then';
      if (!scenario || !step || scenario[key] !== '') throw new Error(`unexpected line: ${line}`);
      scenario[key] = step['text'] ?? '';
    }
  }
  return found;
}

/** "CPU limit via Docker" of 003-gvisor.md is gvisor/cpu-limit-via-docker. */
export function idFor(specFile: string, scenario: string): string {
  const area = specFile.replace(/^\d+-/, '').replace(/\.md$/, '');
  const slug = scenario.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `${area}/${slug.replace(/^-|-$/g, '')}`;
}
