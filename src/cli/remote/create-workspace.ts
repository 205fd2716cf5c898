import type { NewWorkspace, Workspace, WorkspaceEvent } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import { StatusLine } from '../terminal/status-line.ts';

/** Creates a workspace, and tells on standard error what takes long about it. */
export async function createWorkspace(
  client: ApiClient,
  body: NewWorkspace,
  signal?: AbortSignal,
): Promise<Workspace> {
  // Only these take long.
  if (body.image === undefined && body.repository_url === undefined) {
    return client.createWorkspace(body, signal);
  }
  using line = new StatusLine();
  return await tellingProgress(
    client,
    line,
    (detail) => progressOf(detail, body),
    () => client.createWorkspace(body, signal),
  );
}

/** Does `work`, which creates something, and shows meanwhile what `textOf` finds in the events of creates. */
export async function tellingProgress<T>(
  client: ApiClient,
  line: StatusLine,
  textOf: (detail: WorkspaceEvent['detail']) => string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const events = await following(client, ended.signal);
  const telling = tell(events, textOf, line);
  try {
    return await work();
  } finally {
    ended.abort();
    await telling;
  }
}

/** From before the create, so that nothing of it is missed. Whoever cannot follow is not kept from creating. */
async function following(
  client: ApiClient,
  signal: AbortSignal,
): Promise<AsyncIterable<WorkspaceEvent>> {
  try {
    return await client.events.follow({ type: 'workspace.creating' }, undefined, signal);
  } catch {
    return (async function* none() {})();
  }
}

/** Until the events end, which they do with the create. A broken connection only ends the telling. */
async function tell(
  events: AsyncIterable<WorkspaceEvent>,
  textOf: (detail: WorkspaceEvent['detail']) => string | undefined,
  line: StatusLine,
): Promise<void> {
  try {
    for await (const { detail } of events) {
      const text = textOf(detail);
      if (text !== undefined) line.show(text);
    }
  } catch {
    // The create itself says what is wrong.
  }
}

/**
 * The answer that names the workspace comes when all is over, so its events are known by what was asked for:
 * another create of the same image waits for the same pull.
 */
function progressOf(
  { step, message, image, repository_url: url }: WorkspaceEvent['detail'],
  body: NewWorkspace,
): string | undefined {
  const text = typeof message === 'string' ? message : undefined;
  if (step === 'pulling_image' && image === body.image) return text;
  if (step !== 'cloning' || typeof url !== 'string') return undefined;
  return url === withoutUser(body.repository_url) ? (text ?? `cloning ${url}`) : undefined;
}

/** As the server shows it: never with a secret. */
function withoutUser(text = ''): string {
  const url = URL.parse(text);
  if (!url || url.protocol === 'ssh:') return url?.href ?? text;
  url.username = '';
  url.password = '';
  return url.href;
}
