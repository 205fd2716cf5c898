import type { StartProgress } from '../../../domain/provider.ts';

/** One line of the engine's report on a pull, as far as it matters here. */
export interface PullLine {
  readonly id?: string;
  readonly status?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

interface Layer {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly unpackedBytes: number;
  readonly done: boolean;
}

const newLayer: Layer = { bytes: 0, totalBytes: 0, unpackedBytes: 0, done: false };

/** What each status of a layer says; all others are of no layer, or say nothing new. */
const readers: Readonly<
  Record<string, (layer: Layer, current: number, total: number) => Partial<Layer>>
> = {
  'Pulling fs layer': () => ({}),
  Waiting: () => ({}),
  Downloading: (layer, current, total) => ({
    bytes: current,
    totalBytes: Math.max(total, layer.totalBytes, current),
  }),
  'Verifying Checksum': ({ totalBytes }) => ({ bytes: totalBytes }),
  'Download complete': ({ totalBytes }) => ({ bytes: totalBytes }),
  Extracting: ({ totalBytes }, current) => ({ bytes: totalBytes, unpackedBytes: current }),
  'Pull complete': ({ totalBytes }) => ({ bytes: totalBytes, done: true }),
  'Already exists': () => ({ done: true }),
};

/** How far a pull is, from the lines that the engine reports. */
export class PullProgress {
  readonly #image: string;
  readonly #layers = new Map<string, Layer>();

  constructor(image: string) {
    this.#image = image;
  }

  /** False: the pull is no further than before. */
  add({ id, status, progressDetail }: PullLine): boolean {
    const read = Object.hasOwn(readers, status ?? '') ? readers[status ?? ''] : undefined;
    if (id === undefined || !read) return false;
    const before = this.#layers.get(id);
    const layer = before ?? newLayer;
    const { current = 0, total = 0 } = progressDetail ?? {};
    const next = { ...layer, ...read(layer, current, total) };
    this.#layers.set(id, next);
    return (
      !before ||
      next.bytes !== before.bytes ||
      next.unpackedBytes !== before.unpackedBytes ||
      next.done !== before.done
    );
  }

  now(): StartProgress {
    const { layers, done, bytes, total } = this.#sums();
    const amount = total === 0 ? '' : `, ${megabytes(bytes)} of ${megabytes(total)} MB`;
    const parts = layers === 0 ? '' : `, ${String(done)} of ${layersText(layers)}`;
    return this.#report(`pulling ${this.#image}${amount}${parts}`);
  }

  end(): StartProgress {
    const { layers, total } = this.#sums();
    return this.#report(`pulled ${this.#image}, ${megabytes(total)} MB in ${layersText(layers)}`);
  }

  #report(message: string): StartProgress {
    const { layers, done, bytes, total } = this.#sums();
    const counts = { layers, layers_done: done, bytes, bytes_total: total };
    return { step: 'pulling_image', message, detail: { image: this.#image, ...counts } };
  }

  #sums(): Record<'layers' | 'done' | 'bytes' | 'total', number> {
    const layers = [...this.#layers.values()];
    return {
      layers: layers.length,
      done: layers.filter(({ done }) => done).length,
      bytes: layers.reduce((sum, layer) => sum + layer.bytes, 0),
      total: layers.reduce((sum, layer) => sum + layer.totalBytes, 0),
    };
  }
}

function layersText(count: number): string {
  return count === 1 ? '1 layer' : `${String(count)} layers`;
}

function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
