import { probeHost } from '../host/probes/probe-host.ts';
import type { HostReport } from '../host/probes/probe-host.ts';
import type { Check, CheckState } from '../host/probes/check.ts';
import { exitCodes } from './exit-codes.ts';
import { styled } from './terminal/style.ts';

const marks: Readonly<
  Record<CheckState, { mark: string; style: 'green' | 'yellow' | 'red' | 'dim' }>
> = {
  ok: { mark: '✓', style: 'green' },
  reduced: { mark: '~', style: 'yellow' },
  missing: { mark: '-', style: 'dim' },
  broken: { mark: '✗', style: 'red' },
};

/** `emergent doctor`: 0 when a workspace can be created in at least one isolation, 1 otherwise. */
export async function doctor(options: { json: boolean }): Promise<number> {
  const report = await probeHost();
  const text = options.json ? JSON.stringify(report, null, 2) : doctorLines(report).join('\n');
  process.stdout.write(`${text}\n`);
  return report.usable ? exitCodes.ok : exitCodes.failure;
}

export function doctorLines(report: HostReport): string[] {
  const width = Math.max(...report.checks.map(({ title }) => title.length)) + 2;
  return [
    `Linux ${report.kernel}, ${report.architecture}`,
    '',
    ...report.checks.flatMap((check) => checkLines(check, width)),
    '',
    ...report.isolations.map(({ name, usable, blockedBy }) =>
      usable
        ? `Workspaces can be created here, isolated by ${name}.`
        : `No workspace can be created here with ${name}: see ${titles(report, blockedBy)}.`,
    ),
  ];
}

function checkLines(check: Check, width: number): string[] {
  const { mark, style } = marks[check.state];
  const state = styled(style, `${mark} ${check.state.padEnd(9)}`, process.stdout);
  const lines = [`${state}${check.title.padEnd(width)}${check.reason}`];
  if (check.remedy !== undefined && check.state !== 'ok') {
    lines.push(`${' '.repeat(11 + width)}→ ${check.remedy}`);
  }
  return lines;
}

function titles(report: HostReport, ids: readonly string[]): string {
  const found = report.checks.filter(({ id }) => ids.includes(id));
  return found.map(({ title }) => title).join(', ');
}
