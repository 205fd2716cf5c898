import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TunnelRequestSchema } from './gen/emergent/agent/v1/agent_pb.ts';

type Request = MessageInitShape<typeof TunnelRequestSchema>;
export type TunnelMessage = NonNullable<Request['message']>;

/** What one side of a tunnel says, in order: put as it comes, read by the request that carries it. */
export class TunnelMessages {
  readonly #waiting: (readonly [message: TunnelMessage, said: () => void])[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  /** `said` is called when it has been sent on, and its bytes are no longer needed. */
  put(message: TunnelMessage, said: () => void = () => undefined): void {
    this.#waiting.push([message, said]);
    this.#wake();
  }

  /** What was put before is still said. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *all(): AsyncGenerator<Request> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        const [message, said] = next;
        yield { message };
        said();
        continue;
      }
      if (this.#ended) return;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.#wake = () => {
        resolve(undefined);
      };
      await promise;
    }
  }
}
