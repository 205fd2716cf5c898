import { exitCodeOfSignal } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import type { NewWorkspace, Workspace } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import { note } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';
import type { PassedOnSignal } from '../terminal/signals.ts';
import { createWorkspace } from './create-workspace.ts';

/**
 * Creates the workspace of a `run`. A signal meanwhile does not leave it behind: the first waits for the answer
 * and destroys what it names, the second drops the request, and the server undoes it.
 */
export async function createForRun(client: ApiClient, body: NewWorkspace): Promise<Workspace> {
  const received: PassedOnSignal[] = [];
  const dropped = new AbortController();
  using _signals = onSignals((signal) => {
    if (received.push(signal) === 1) note('emergent: waiting for the workspace, to destroy it');
    else dropped.abort(interrupted(signal));
  });
  const workspace = await createWorkspace(client, body, dropped.signal);
  const [first] = received;
  if (first === undefined) return workspace;
  await destroyAfterRun(client, workspace.id);
  throw interrupted(first);
}

/** A signal meanwhile is told what it would leave behind; the second one leaves it. */
export async function destroyAfterRun(client: ApiClient, id: string): Promise<void> {
  const left = new AbortController();
  let received = 0;
  using _signals = onSignals((signal) => {
    received += 1;
    if (received === 1)
      note('emergent: destroying the workspace; once more to stop waiting for it');
    else left.abort(interrupted(signal, `emergent destroy ${id}`));
  });
  try {
    await client.destroyWorkspace(id, left.signal);
  } catch (error) {
    if (left.signal.aborted) throw error;
    if (error instanceof Failure && error.code === 'workspace_not_found') return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure('not_destroyed', `workspace ${id} was not destroyed: ${reason}`, {
      hint: `Try: emergent destroy ${id}`,
      cause: error,
    });
  }
}

function interrupted(signal: PassedOnSignal, remedy?: string): Failure {
  return new Failure('interrupted', `ended by ${signal}`, {
    ...(remedy !== undefined && { hint: `The workspace may still be there: ${remedy}` }),
    exitCode: exitCodeOfSignal(signal),
  });
}
