/**
 * What must never be. `twice`: a workspace was handed out to two, or held what is another's. `dead`: it was handed out
 * though it did not live. `failed`: a request that nothing explains did not do what was asked.
 */
export const loadFindingKinds = ['twice', 'dead', 'failed', 'leak', 'stuck', 'crash'] as const;
export type LoadFindingKind = (typeof loadFindingKinds)[number];
