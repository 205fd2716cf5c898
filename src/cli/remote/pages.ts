import type { Workspace } from '../http/api-types.ts';
import type { ApiClient, ListQuery } from '../http/client.ts';

const pageSize = '100';

/** Every workspace that the query matches, page by page. */
export async function* allWorkspaces(
  client: ApiClient,
  query: Omit<ListQuery, 'cursor' | 'limit'>,
): AsyncGenerator<Workspace> {
  let cursor: string | undefined;
  do {
    const page = await client.listWorkspaces({
      ...query,
      limit: pageSize,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.items;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
