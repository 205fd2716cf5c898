import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { EmergentError } from '../../../domain/errors.ts';
import { isBuiltBySetUp, parseImageReference } from '../../../domain/image.ts';
import type { StartProgress } from '../../../domain/provider.ts';
import { engineCall, engineStatus } from '../docker.ts';
import { imageFacts, requireSuitable } from './image-facts.ts';
import type { ImageFacts } from './image-facts.ts';
import type { PullLimits } from './pull.ts';
import { SharedPulls } from './shared-pulls.ts';

const callMs = 10_000;
const removeMs = 30_000;
const defaultPullLimits: PullLimits = { stalledMs: 60_000, totalMs: 30 * 60_000 };

export interface ImagesOptions {
  readonly docker: Docker;
  readonly clock: Clock;
  readonly log: Log;
  readonly pullLimits?: PullLimits;
}

/** The engine's images: looked at before each container is made from one, and pulled where they are absent. */
export class Images {
  readonly #docker: Docker;
  readonly #log: Log;
  readonly #pulls: SharedPulls;

  constructor(options: ImagesOptions) {
    this.#docker = options.docker;
    this.#log = options.log;
    this.#pulls = new SharedPulls({ pullLimits: defaultPullLimits, ...options });
  }

  /** What containers made from the image depend on. An image that cannot be had or used is an EmergentError. */
  async ensure(
    image: string,
    architecture: string,
    signal: AbortSignal,
    onProgress: (progress: StartProgress) => void,
  ): Promise<ImageFacts> {
    const reference = parseImageReference(image);
    const there = await this.#inspect(image, signal);
    if (there) {
      requireSuitable(image, there, architecture);
      return imageFacts(there);
    }
    if (isBuiltBySetUp(reference)) throw notBuilt(image);
    await this.#pulls.pull(image, signal, onProgress);
    const pulled = await this.#inspect(image, signal);
    if (!pulled) {
      throw new EmergentError(
        'provider_failed',
        `the engine pulled "${image}" and does not have it`,
      );
    }
    try {
      requireSuitable(image, pulled, architecture);
    } catch (error) {
      await this.#remove(image, signal);
      throw error;
    }
    return imageFacts(pulled);
  }

  async #inspect(image: string, signal: AbortSignal): Promise<Docker.ImageInspectInfo | undefined> {
    const found = this.#docker.getImage(image);
    try {
      return await engineCall('looking for the image', callMs, () => found.inspect(), signal);
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  }

  /** Of an image that was pulled for nothing. One that somebody else uses by now stays. */
  async #remove(image: string, signal: AbortSignal): Promise<void> {
    try {
      await engineCall(
        'removing the image',
        removeMs,
        (abortSignal): Promise<unknown> => this.#docker.getImage(image).remove({ abortSignal }),
        signal,
      );
    } catch (error) {
      this.#log.warn('an image that cannot be used was not removed', { image, err: error });
    }
  }
}

function notBuilt(image: string): EmergentError {
  return new EmergentError('image_not_found', `the image "${image}" is not on the Docker engine`, {
    hint: 'It is built on the host, and in no registry: `emergent serve` builds it when it starts.',
  });
}
