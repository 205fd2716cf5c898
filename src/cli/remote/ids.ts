import { Failure, UsageFailure } from '../failure.ts';
import type { ApiClient } from '../http/client.ts';
import { allWorkspaces } from './pages.ts';

const fullId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const beginning = /^[0-9a-f-]{4,36}$/i;

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
  const wanted = text.toLowerCase();
  if (fullId.test(wanted)) return wanted;
  const matches: string[] = [];
  for await (const { id } of allWorkspaces(client, {})) if (id.startsWith(wanted)) matches.push(id);
  const [only, ...others] = matches;
  if (only === undefined) {
    throw new Failure('workspace_not_found', `no workspace's id begins with ${text}`, {
      hint: 'See `emergent list`; a destroyed workspace is gone for good.',
    });
  }
  if (others.length > 0) {
    throw new Failure('ambiguous_id', `${text} begins several ids: ${matches.join(', ')}`, {
      hint: 'Write more of the id.',
      details: { matches },
    });
  }
  return only;
}
