/** What must never be: each kind fails the run. */
export const findingKinds = ['loss', 'leak', 'stuck', 'crash'] as const;
export type FindingKind = (typeof findingKinds)[number];

export interface Finding<K extends string = FindingKind> {
  readonly kind: K;
  /** The workspace, file, container or process that it is about. */
  readonly subject: string;
  readonly detail: string;
  readonly at: string;
}

/** Where complaints of some kinds go. */
export interface Complaints<K extends string> {
  /** Notes nothing when there is no complaint, so that a check can be handed over as it is. */
  add(kind: K, subject: string, complaint: string | undefined): void;
}

/** Collects what was found, each once: a lost file is seen again by every later read of it. */
export class Findings<K extends string = FindingKind> implements Complaints<K> {
  readonly #found = new Map<string, Finding<K>>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  add(kind: K, subject: string, complaint: string | undefined): void {
    if (complaint === undefined) return;
    const key = `${kind} ${subject}`;
    if (this.#found.has(key)) return;
    const at = this.#now().toISOString();
    this.#found.set(key, { kind, subject, detail: complaint, at });
  }

  all(): readonly Finding<K>[] {
    return [...this.#found.values()];
  }

  of(kind: K): readonly Finding<K>[] {
    return this.all().filter((finding) => finding.kind === kind);
  }
}
