import type { CreateWorkspaceRequest } from '../../domain/create-request.ts';
import type { WorkspaceEvent } from '../../domain/events.ts';
import type { Call } from './call.ts';

/** Tells what takes long about a create (pulling an image, cloning a repository), until disposed. */
export function tellOfCreation(call: Call, wanted: CreateWorkspaceRequest): Disposable {
  const ended = new AbortController();
  void tell(call, wanted, ended.signal);
  return {
    [Symbol.dispose]() {
      ended.abort();
    },
  };
}

async function tell(
  { engine, caller, progress }: Call,
  wanted: CreateWorkspaceRequest,
  ended: AbortSignal,
): Promise<void> {
  if (!progress) return;
  try {
    for await (const event of engine.events.follow(
      caller,
      { types: ['workspace.creating'] },
      ended,
    )) {
      const { message } = event.detail;
      if (isOf(wanted, event) && event.actor === caller.tokenId && typeof message === 'string') {
        progress.note(message);
      }
    }
  } catch {
    // The create itself says what is wrong.
  }
}

/** The id is known when all is over, so events are known by what was asked for: an image is pulled once for all. */
function isOf(wanted: CreateWorkspaceRequest, { detail }: WorkspaceEvent): boolean {
  if (detail['step'] === 'pulling_image') {
    return wanted.image === undefined || detail['image'] === wanted.image;
  }
  return detail['step'] === 'cloning' && detail['repository_url'] === wanted.repository?.url;
}
