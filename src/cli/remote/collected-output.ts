import { Failure } from '../failure.ts';
import type { OutputSink } from './exec.ts';

const maxBytes = 64 * 2 ** 20;

/** A command's output kept for one JSON document; too much of it is refused rather than cut. */
export class CollectedOutput {
  readonly #parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  #bytes = 0;

  readonly sink: OutputSink = async (stream, data) => {
    this.#bytes += data.length;
    if (this.#bytes > maxBytes) {
      throw new Failure('output_too_large', 'more than 64 MB of output do not fit into --json', {
        hint: 'Leave out --json, or redirect the output to a file in the workspace.',
      });
    }
    this.#parts[stream].push(data);
  };

  texts(): { readonly stdout: string; readonly stderr: string } {
    const { stdout, stderr } = this.#parts;
    return { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
  }
}
