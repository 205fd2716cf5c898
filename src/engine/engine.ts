import type { Tokens } from './tokens.ts';
import type { Tools } from './tools.ts';
import type { Workspaces } from './workspaces.ts';

/** What the HTTP layer sees of the moving parts. */
export interface Engine {
  readonly workspaces: Workspaces;
  readonly tools: Tools;
  readonly tokens: Tokens;
}
