import type { Database } from '../database.ts';
import { OneAtATime } from '../one-at-a-time.ts';

/**
 * One at a time in the whole installation: a name that is given out, and one whose volumes become kept. An admission
 * that looked for kept volumes before they were noted, and wrote its row after the old one had gone, would have a
 * second server under the name that they are kept for.
 */
export class McpNames extends OneAtATime {
  constructor(database: Database) {
    super(database, 'the name of an MCP server', '8118230457736190925');
  }
}
