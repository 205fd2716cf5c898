import type { WorkspaceEvent } from '../http/api-types.ts';
import { oneLine } from './output.ts';

const typeWidth = 'workspace.destroying'.length;

/** One line on what happened: when, where, what, the facts, and who did it. */
export function eventLine(event: WorkspaceEvent): string {
  const facts = Object.entries(event.detail).map(([name, value]) => `${name}=${shown(value)}`);
  return [
    oneLine(event.at),
    oneLine((event.workspace_id ?? '-').slice(0, 8)).padEnd(8),
    oneLine(event.type).padEnd(typeWidth),
    oneLine([...facts, `by=${shortActor(event.actor)}`].join(' ')),
  ].join('  ');
}

/** Words as they are; what holds spaces in quotes, so that one fact can be told from the next. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[^\s"]+$/.test(text) || typeof value !== 'string' ? text : JSON.stringify(text);
}

/** Parts of the server go by their names, tokens by the beginning of their ids. */
function shortActor(actor: string): string {
  return /^[0-9a-f]{8}-/.test(actor) ? actor.slice(0, 8) : actor;
}
