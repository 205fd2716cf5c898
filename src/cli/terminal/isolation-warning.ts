import type { Workspace } from '../http/api-types.ts';
import { note, oneLine } from './output.ts';

/** Tells the person who has created it what its isolation lacks, if anything. */
export function warnOfIsolation({ metadata }: Pick<Workspace, 'metadata'>): void {
  const warning = metadata['security_warning'];
  if (typeof warning === 'string') note(`warning: ${oneLine(warning)}`);
}
