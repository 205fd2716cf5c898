import type { EventStore, McpStore, PoolStore, WorkspaceStore } from '../domain/store.ts';

type Write<A extends unknown[], R> = (...parameters: A) => Promise<R>;

function wakingWith(wake: () => void): <A extends unknown[], R>(write: Write<A, R>) => Write<A, R> {
  return (write) =>
    async (...parameters) => {
      const written = await write(...parameters);
      wake();
      return written;
    };
}

/** The same store, which also tells when it has written an event, so that followers see it at once. */
export function wakingStore(store: WorkspaceStore, wake: () => void): WorkspaceStore {
  const waking = wakingWith(wake);
  return {
    admit: waking((workspace, limit) => store.admit(workspace, limit)),
    get: (id) => store.get(id),
    list: (query) => store.list(query),
    all: () => store.all(),
    transition: waking((id, transition) => store.transition(id, transition)),
    transitionWithin: waking((id, transition, limit) =>
      store.transitionWithin(id, transition, limit),
    ),
    remove: waking((id, by, detail) => store.remove(id, by, detail)),
    release: (id) => store.release(id),
    takeOver: () => store.takeOver(),
    abandoned: () => store.abandoned(),
    touch: (id, now, owner) => store.touch(id, now, owner),
    claimExpired: waking((now, except, limit) => store.claimExpired(now, except, limit)),
    countByProvider: () => store.countByProvider(),
  };
}

export function wakingPools(pools: PoolStore, wake: () => void): PoolStore {
  const waking = wakingWith(wake);
  return {
    configure: (definitions, release) => pools.configure(definitions, release),
    list: () => pools.list(),
    resize: waking((name, size, by) => pools.resize(name, size, by)),
    members: () => pools.members(),
    reserve: waking((member, size) => pools.reserve(member, size)),
    claim: waking((key, workspace, limit) => pools.claim(key, workspace, limit)),
  };
}

export function wakingMcp(mcp: McpStore, wake: () => void): McpStore {
  return {
    servers: () => mcp.servers(),
    find: (name, owner) => mcp.find(name, owner),
    states: (ids) => mcp.states(ids),
    saveState: (id, state) => mcp.saveState(id, state),
    claimHosting: (ids) => mcp.claimHosting(ids),
    releaseHosting: (ids) => mcp.releaseHosting(ids),
    hostedElsewhere: (ids) => mcp.hostedElsewhere(ids),
    removeKeeping: wakingWith(wake)((id, by, detail) => mcp.removeKeeping(id, by, detail)),
    kept: (owner) => mcp.kept(owner),
    forgetKept: (id) => mcp.forgetKept(id),
  };
}

export function wakingEvents(events: EventStore, wake: () => void): EventStore {
  const waking = wakingWith(wake);
  return {
    recordMcp: waking((event) => events.recordMcp(event)),
    recordNotice: waking((notice) => events.recordNotice(notice)),
    recordCalls: waking((calls) => events.recordCalls(calls)),
    recordIncident: waking((incident) => events.recordIncident(incident)),
    list: (query) => events.list(query),
    newestId: () => events.newestId(),
    known: (ids) => events.known(ids),
    prune: (before) => events.prune(before),
  };
}
