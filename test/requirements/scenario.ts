/** What brings a scenario that no test covers yet. */
export const capabilities = {
  firecracker: 'the Firecracker provider and its manager',
  e2b: 'the E2B provider',
} as const;
export type Capability = keyof typeof capabilities;

/** One scenario of docs/specs, word for word. */
export interface Scenario {
  /** `<area>/<slug of the title>`; the area is the spec's file name without its number. */
  readonly id: `${string}/${string}`;
  readonly requirement: string;
  readonly scenario: string;
  readonly when: string;
  readonly then: string;
  readonly status: 'covered' | { readonly deferred: Capability };
}
