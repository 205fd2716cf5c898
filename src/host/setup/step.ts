/** What a running step tells: the last line shown is what it is doing now. */
export type Note = (line: string) => void;

/** One thing a host needs. `needed` is quick and changes nothing; `run` may be interrupted and run again. */
export interface SetupStep {
  readonly name: string;
  /** Why it is needed, for the person who watches it being installed. */
  readonly why: string;
  /** Steps that must have succeeded before. */
  readonly after: readonly string[];
  /** What is missing, in a few words; false when it is all there. */
  needed(signal: AbortSignal): Promise<false | string>;
  run(note: Note, signal: AbortSignal): Promise<void>;
  /** What a person can do when it fails. */
  readonly remedy: string;
}

export type StepResult =
  | { readonly name: string; readonly state: 'there' | 'done'; readonly ms: number }
  | {
      readonly name: string;
      readonly state: 'failed';
      readonly ms: number;
      readonly reason: string;
      readonly remedy: string;
    };

/** A failure that knows a better remedy than its step. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.remedy = remedy;
  }
}
