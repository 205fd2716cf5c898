import type { EventStore, WorkspaceStore } from '../domain/store.ts';

/** The same store, which also tells when it has written an event, so that followers see it at once. */
export function wakingStore(store: WorkspaceStore, wake: () => void): WorkspaceStore {
  const waking =
    <A extends unknown[], R>(write: (...parameters: A) => Promise<R>) =>
    async (...parameters: A): Promise<R> => {
      const written = await write(...parameters);
      wake();
      return written;
    };
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

export function wakingEvents(events: EventStore, wake: () => void): EventStore {
  return {
    async recordCall(call) {
      await events.recordCall(call);
      wake();
    },
    async recordIncident(incident) {
      await events.recordIncident(incident);
      wake();
    },
    list: (query) => events.list(query),
    newestId: () => events.newestId(),
    known: (ids) => events.known(ids),
    prune: (before) => events.prune(before),
  };
}
