import { Failure, UsageFailure } from '../failure.ts';
import type { ApiClient } from '../http/client.ts';
import { allWorkspaces } from './pages.ts';

const fullId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const beginning = /^[0-9a-f-]{4,36}$/i;
/** How far back the log is searched for a workspace that is gone. */
const searchedEvents = 1000;

/** Refuses what cannot be an id, or the beginning of one. */
export function checkId(text: string): void {
  if (beginning.test(text)) return;
  throw new UsageFailure(
    `"${text}" is not the id of a workspace`,
    'Write the id as `emergent list` shows it, or at least its first 4 characters.',
  );
}

/** The id that `text` is, or begins, among the caller's workspaces. */
export async function resolveId(client: ApiClient, text: string): Promise<string> {
  checkId(text);
  return (
    fullIdIn(text) ??
    only(text, await idsOf(client), {
      code: 'workspace_not_found',
      message: `no workspace's id begins with ${text}`,
      hint: 'See `emergent list`; a destroyed workspace is gone for good.',
    })
  );
}

/** The same among those that exist and those that the log tells of: events outlive their workspace. */
export async function resolveIdInLog(client: ApiClient, text: string): Promise<string> {
  checkId(text);
  const full = fullIdIn(text);
  if (full !== undefined) return full;
  const { items } = await client.events.newest({}, searchedEvents);
  const logged = items.map((event) => event.workspace_id).filter((id) => id !== null);
  const ids = [...(await idsOf(client)), ...logged];
  return only(text, ids, {
    code: 'workspace_not_found',
    message: `no workspace's id begins with ${text}, and none of the latest events' does`,
    hint: 'Write the whole id to see the events of a workspace that is long gone.',
  });
}

/** The id that `text` is, or begins, among the processes of a workspace. */
export async function resolveProcess(
  client: ApiClient,
  workspaceId: string,
  text: string,
): Promise<string> {
  const hint = `See \`emergent ps --all ${workspaceId}\`.`;
  if (!beginning.test(text)) {
    throw new UsageFailure(
      `"${text}" is not the id of a process`,
      'Write the id as `emergent ps` shows it, or at least its first 4 characters.',
    );
  }
  const full = fullIdIn(text);
  if (full !== undefined) return full;
  const ids = (await client.processes.list(workspaceId)).map(({ id }) => id);
  const message = `no process's id begins with ${text}`;
  return only(text, ids, { code: 'process_not_found', message, hint });
}

function fullIdIn(text: string): string | undefined {
  const wanted = text.toLowerCase();
  return fullId.test(wanted) ? wanted : undefined;
}

async function idsOf(client: ApiClient): Promise<readonly string[]> {
  return (await Array.fromAsync(allWorkspaces(client, {}))).map(({ id }) => id);
}

interface NoneFound {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

function only(text: string, ids: readonly string[], none: NoneFound): string {
  const wanted = text.toLowerCase();
  const matches = [...new Set(ids.filter((id) => id.startsWith(wanted)))];
  const [first, ...others] = matches;
  if (first === undefined) throw new Failure(none.code, none.message, { hint: none.hint });
  if (others.length === 0) return first;
  throw new Failure('ambiguous_id', `${text} begins several ids: ${matches.join(', ')}`, {
    hint: 'Write more of the id.',
    details: { matches },
  });
}
