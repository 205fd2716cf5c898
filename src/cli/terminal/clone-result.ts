import type { Workspace } from '../http/api-types.ts';
import { note, oneLine } from './output.ts';

/** Tells which commit of which branch was cloned into a new workspace, if any was. */
export function noteClone({ repository_url: url, metadata }: Workspace): void {
  const repository = metadata['repository'];
  if (url === null || typeof repository !== 'object' || repository === null) return;
  const { branch, commit } = repository as Partial<Record<string, unknown>>;
  const place =
    typeof commit === 'string'
      ? `${typeof branch === 'string' ? `branch ${branch}, ` : ''}commit ${commit.slice(0, 12)}`
      : 'no commit yet';
  note(`cloned: ${oneLine(`${url}, ${place}`)}`);
}
