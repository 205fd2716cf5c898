import type { Clock } from '../../base/clock.ts';
import type { PoolStore } from '../../domain/store.ts';
import type { Database } from '../database.ts';
import { OneAtATime } from '../one-at-a-time.ts';
import type { ServerIdentity } from '../server.ts';
import type { Admissions } from '../workspaces/admission.ts';
import { claimMember } from './claim.ts';
import { configurePools } from './configure.ts';
import { listPools } from './list.ts';
import { poolMembers } from './members.ts';
import { reserveMember } from './reserve.ts';
import { resizePool } from './resize.ts';

export function poolStore(
  db: Database,
  admissions: Admissions,
  { number }: ServerIdentity,
  clock: Pick<Clock, 'now'>,
): PoolStore {
  const configurations = new OneAtATime(db, 'the configuration of pools', '2247108369915570364');
  const reservations = new OneAtATime(db, 'a place in a pool', '5410836277190265583');
  return {
    configure: (pools, release) => configurePools(configurations, pools, release),
    list: () => listPools(db),
    resize: (name, size, by) => resizePool(db, name, size, by, clock.now()),
    members: () => poolMembers(db),
    reserve: (member, size) => reserveMember(reservations, number, member, size, clock.now()),
    claim: (key, workspace, limit) =>
      claimMember(db, admissions, number, { key, workspace, limit }, clock.now()),
  };
}
