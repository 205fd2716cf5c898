import { describe, json } from '../chaos/api-client.ts';
import type { Reply } from '../chaos/api-client.ts';
import type { Complaints } from '../chaos/findings.ts';
import type { Create, Journal, Use } from './journal.ts';
import { excuses } from './kills.ts';
import type { Kill } from './kills.ts';

/** When the engine was away, by the monotonic time; the server uses it again from `recoveredAt` on. */
export interface Outage {
  readonly stopBeganAt: number;
  readonly stoppedAt: number;
  readonly startBeganAt: number;
  readonly recoveredAt: number;
}

export interface JudgeOptions {
  readonly journal: Journal;
  readonly killsOf: (id: string) => readonly Kill[];
  readonly outage?: Outage | undefined;
  readonly findings: Complaints<'dead' | 'failed'>;
}

/** Holds every answer against what was broken at that time; tells how many failures that explains. */
export function judge(options: JudgeOptions): { readonly excused: number } {
  const { journal, killsOf, outage, findings } = options;
  let excused = 0;
  for (const create of journal.creates) {
    const complaint = complaintAbout(create, outage);
    const name = create.id ?? `create at ${create.sentAt.toFixed(0)} ms`;
    if (complaint !== undefined) findings.add('failed', name, complaint);
    else if (create.id === undefined) excused += 1;
  }
  for (const use of journal.uses) {
    if (use.complaint === undefined) continue;
    const { workspace } = use;
    const kills = killsOf(workspace.id ?? '');
    if (isDuring(use, outage) || (mayDie(use) && kills.some((kill) => excuses(kill, workspace)))) {
      excused += 1;
    } else {
      const detail = `${use.what}: ${use.complaint}${knownKills(kills, workspace)}`;
      const kind = use.what === 'first command' ? 'dead' : 'failed';
      findings.add(kind, workspace.id ?? '', detail);
    }
  }
  return { excused };
}

/** Those that were asked for and answered while the engine was away. */
export function duringOutage(journal: Journal, outage: Outage): readonly Create[] {
  return journal.creates.filter(
    ({ sentAt, answeredAt }) => sentAt >= outage.stoppedAt && answeredAt <= outage.startBeganAt,
  );
}

/** Without the engine every create is refused, with the reason of every provider; otherwise each works. */
function complaintAbout(create: Create, outage: Outage | undefined): string | undefined {
  const { reply, sentAt, answeredAt } = create;
  if (!outage || !isDuring(create, outage)) {
    return reply.outcome === 'acknowledged' ? undefined : describe(reply);
  }
  if (reply.outcome === 'unknown') return describe(reply);
  if (sentAt < outage.stoppedAt || answeredAt > outage.startBeganAt) return undefined;
  if (reply.status !== 503) return `not refused with 503: ${describe(reply)}`;
  return saysWhy(reply) ? undefined : `refused without the reason: ${describe(reply)}`;
}

function saysWhy(reply: Reply): boolean {
  const { error } = json(reply) as {
    error: { details?: { providers?: readonly { name: string; reason: string }[] } };
  };
  const providers = error.details?.providers ?? [];
  return providers.some(({ name, reason }) => name === 'gvisor' && reason !== '');
}

function isDuring(
  { sentAt, answeredAt }: { readonly sentAt: number; readonly answeredAt: number },
  outage: Outage | undefined,
): boolean {
  return outage !== undefined && sentAt < outage.recoveredAt && answeredAt > outage.stopBeganAt;
}

/** A dead workspace runs no command, but it can always be destroyed. */
function mayDie({ what }: Use): boolean {
  return what !== 'destroy';
}

/** For whoever reads the finding. */
function knownKills(kills: readonly Kill[], { sentAt, answeredAt }: Create): string {
  if (kills.length === 0) return '; nobody killed it';
  const times = kills.map(({ kind, beganAt, deadAt, after }) => {
    const [began, dead] = [beganAt - sentAt, (deadAt ?? Number.NaN) - sentAt];
    return `by ${kind} from ${began.toFixed(0)} to ${dead.toFixed(0)} ms, its row then ${after}`;
  });
  const answered = `handed out at ${(answeredAt - sentAt).toFixed(0)} ms`;
  return `; after the request for it: killed ${times.join(', ')}; ${answered}`;
}
