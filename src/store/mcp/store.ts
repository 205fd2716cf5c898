import type { Clock } from '../../base/clock.ts';
import type { McpStore } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import type { ServerIdentity } from '../server.ts';
import { claimHosting } from './claim-hosting.ts';
import { findMcpServers } from './find.ts';
import { forgetKept } from './forget-kept.ts';
import { hostedElsewhere } from './hosted-elsewhere.ts';
import { keptVolumes } from './kept.ts';
import type { McpNames } from './names.ts';
import { releaseHosting } from './release-hosting.ts';
import { removeKeeping } from './remove-keeping.ts';
import { saveMcpState } from './save-state.ts';
import { mcpServers } from './servers.ts';
import { mcpStates } from './states.ts';

export function mcpStore(
  db: Queryable,
  names: McpNames,
  server: ServerIdentity,
  clock: Pick<Clock, 'now'>,
): McpStore {
  const { number } = server;
  return {
    servers: () => mcpServers(db),
    find: (name, owner) => findMcpServers(db, name, owner),
    states: (ids) => mcpStates(db, ids),
    saveState: (id, state) => saveMcpState(db, number, id, state),
    claimHosting: (ids) => claimHosting(db, server, ids),
    releaseHosting: (ids) => releaseHosting(db, number, ids),
    hostedElsewhere: (ids) => hostedElsewhere(db, number, ids),
    removeKeeping: (id, by, detail = {}) =>
      removeKeeping(names, number, id, { at: clock.now(), by, detail }),
    kept: (owner) => keptVolumes(db, owner),
    forgetKept: (id) => forgetKept(db, id),
  };
}
