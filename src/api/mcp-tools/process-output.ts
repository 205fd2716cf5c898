import { z } from 'zod';
import { untilAborted } from '../../base/until-aborted.ts';
import type { OutputEvent } from '../../domain/exec.ts';
import { presentProcess, process } from '../schemas/process.ts';
import { unfinishedBytes } from '../stream/utf8-chunks.ts';
import type { Call } from './call.ts';

/** Of one answer, as in the other tools. */
const maxBytes = 50 * 1024;
const maxWaitMs = 60_000;

export const outputInput = {
  offset: z
    .int()
    .min(0)
    .default(0)
    .describe('How many bytes of output are known already; an earlier next_offset.'),
  wait_ms: z
    .int()
    .min(0)
    .max(maxWaitMs)
    .default(0)
    .describe('How long to wait for something new; 0: not at all.'),
};

const { status, exit_code, signal } = process.shape;

export const outputResult = z.object({
  output: z.string().describe('Standard output and standard error as they came. At most 50 KB.'),
  next_offset: z.int().describe('Where to read on.'),
  truncated: z.boolean().describe('More is there already.'),
  skipped_bytes: z.int().describe('Output before this that is no longer kept.'),
  ...{ status, exit_code, signal },
});

interface OutputRequest {
  readonly process_id: string;
  readonly offset: number;
  readonly wait_ms: number;
}

export async function collectOutput(
  call: Call,
  workspaceId: string,
  { process_id: processId, offset, wait_ms: waitMs }: OutputRequest,
): Promise<z.input<typeof outputResult>> {
  const { processes } = call.engine;
  const part = new OutputPart(offset);
  const attach = (follow: boolean, until: AbortSignal): Promise<AsyncIterable<OutputEvent>> =>
    processes.attach(call.caller, workspaceId, processId, { offset, follow }, until);
  await part.take(await attach(false, call.signal), () => part.full);
  if (part.empty && waitMs > 0) {
    using waiting = new Waiting(call, waitMs);
    await waiting.orGiveUp(async (until) => {
      await part.take(await attach(true, until), () => !part.empty);
    });
  }
  const facts = presentProcess(
    await processes.get(call.caller, workspaceId, processId, call.signal),
  );
  return {
    ...part.text(facts.status === 'exited' ? facts.output_bytes : undefined),
    status: facts.status,
    exit_code: facts.exit_code,
    signal: facts.signal,
  };
}

/** What is read of a process's output, from one place on. */
class OutputPart {
  readonly #chunks: Uint8Array[] = [];
  #next: number;
  #bytes = 0;
  #skipped = 0;
  #ended = false;

  constructor(offset: number) {
    this.#next = offset;
  }

  get full(): boolean {
    return this.#bytes > maxBytes;
  }

  /** Nothing to tell yet. */
  get empty(): boolean {
    return this.#bytes === 0 && !this.#ended;
  }

  async take(events: AsyncIterable<OutputEvent>, enough: () => boolean): Promise<void> {
    for await (const event of events) {
      if (event.type === 'exit') this.#ended = true;
      else if (event.type === 'skipped') this.#skip(event.bytes);
      else {
        this.#chunks.push(event.data);
        this.#bytes += event.data.length;
      }
      if (enough()) return;
    }
  }

  /**
   * `total`: of a process that has ended, all that it has written, which may be more than there was when this was read.
   * At its very end the beginning of a character is shown as it is: nothing will ever complete it.
   */
  text(total: number | undefined): {
    output: string;
    next_offset: number;
    truncated: boolean;
    skipped_bytes: number;
  } {
    const all = Buffer.concat(this.#chunks);
    const kept = all.subarray(0, maxBytes);
    const isLast = this.#next + kept.length === total;
    const shown = kept.subarray(0, kept.length - (isLast ? 0 : unfinishedBytes(kept)));
    const next = this.#next + shown.length;
    return {
      output: shown.toString('utf8'),
      next_offset: next,
      truncated: kept.length < all.length || (total !== undefined && next < total),
      skipped_bytes: this.#skipped,
    };
  }

  /** What is missing in the middle is shown as if the output began behind it. */
  #skip(bytes: number): void {
    this.#next += this.#bytes + bytes;
    this.#skipped += this.#bytes + bytes;
    this.#chunks.length = 0;
    this.#bytes = 0;
  }
}

/** A wait that may end without result. */
class Waiting implements Disposable {
  readonly #over = new AbortController();
  readonly #gaveUp = new AbortController();
  readonly #signal: AbortSignal;

  constructor({ clock, signal }: Call, ms: number) {
    this.#signal = signal;
    clock.sleep(ms, this.#over.signal).then(
      () => {
        this.#gaveUp.abort(new Error('nothing has come'));
      },
      () => undefined,
    );
  }

  async orGiveUp(work: (until: AbortSignal) => Promise<void>): Promise<void> {
    const until = AbortSignal.any([this.#signal, this.#gaveUp.signal]);
    try {
      await untilAborted(work(until), until);
    } catch (error) {
      if (!this.#gaveUp.signal.aborted || this.#signal.aborted) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }
}
