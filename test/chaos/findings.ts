/** What must never be: each kind fails the run. */
export const findingKinds = ['loss', 'leak', 'stuck', 'crash'] as const;
export type FindingKind = (typeof findingKinds)[number];

export interface Finding {
  readonly kind: FindingKind;
  /** The workspace, file, container or process that it is about. */
  readonly subject: string;
  readonly detail: string;
  readonly at: string;
}

/** Collects what was found, each once: a lost file is seen again by every later read of it. */
export class Findings {
  readonly #found = new Map<string, Finding>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Notes nothing when there is no complaint, so that a check can be handed over as it is. */
  add(kind: FindingKind, subject: string, complaint: string | undefined): void {
    if (complaint === undefined) return;
    const key = `${kind} ${subject}`;
    if (this.#found.has(key)) return;
    const at = this.#now().toISOString();
    this.#found.set(key, { kind, subject, detail: complaint, at });
  }

  all(): readonly Finding[] {
    return [...this.#found.values()];
  }

  of(kind: FindingKind): readonly Finding[] {
    return this.all().filter((finding) => finding.kind === kind);
  }
}
