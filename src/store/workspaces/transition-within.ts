import type { Refused, Transition } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { countRunning, type Admissions } from './admission.ts';
import { transitionWorkspace } from './transition.ts';

/**
 * Race: the count and the transition are one admission, and admissions do not overlap (`admission.ts`). The row may
 * still be changed by others until the transition itself decides.
 */
export async function transitionWithin(
  admissions: Admissions,
  server: number,
  id: string,
  transition: Transition,
  limit: number,
  at: Date,
): Promise<Workspace | Refused | undefined> {
  return admissions.run(async (tx) => {
    // Whether it would be changed at all decides between "no room" and "not there, or in another state".
    const [row] = await tx.query(
      `select container_type
         from kb.agent_workspaces
        where id = $1 and status = any($2::text[]) and ($3::integer is null or operator = $3)`,
      [id, transition.from, transition.own === true ? server : null],
    );
    if (!row) return undefined;
    if (row['container_type'] === 'agent_workspace') {
      const running = await countRunning(tx, id);
      if (running >= limit) return { running };
    }
    return transitionWorkspace(tx, server, id, transition, at);
  });
}
