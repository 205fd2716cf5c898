import { exitCodes } from './exit-codes.ts';

export interface FailureOptions {
  /** What the reader should do next. */
  readonly hint?: string;
  readonly details?: unknown;
  readonly requestId?: string;
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/** A failure that is told to the user in one line: what went wrong, and what to do about it. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: unknown;
  readonly requestId: string | undefined;
  /** Unset: what the running command ends with when it fails. */
  readonly exitCode: number | undefined;

  constructor(code: string, message: string, options: FailureOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
    this.requestId = options.requestId;
    this.exitCode = options.exitCode;
  }

  /** The shape in which the API reports its errors too. */
  toJSON(): object {
    return {
      error: {
        code: this.code,
        message: this.message,
        hint: this.hint ?? null,
        ...(this.details !== undefined && { details: this.details }),
        ...(this.requestId !== undefined && { request_id: this.requestId }),
      },
    };
  }
}

/** The command line itself is wrong. */
export class UsageFailure extends Failure {
  override readonly name = 'UsageFailure';

  constructor(message: string, hint?: string) {
    super('usage', message, { exitCode: exitCodes.usage, ...(hint !== undefined && { hint }) });
  }
}

/** The reader of our output went away (`| head`): there is nobody left to tell. */
export class BrokenPipe extends Error {
  override readonly name = 'BrokenPipe';
}

/** The `code` of a system error, such as "ENOENT". */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
