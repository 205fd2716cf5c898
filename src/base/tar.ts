import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

export interface TarFile {
  readonly name: string;
  readonly mode: number;
  readonly content: Uint8Array;
}

/** An archive of a few files in this order, with no times and owners, so that equal files give equal bytes. */
export async function tarOf(files: readonly TarFile[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, mode, content } of files) {
    archive.entry({ name, mode, mtime: new Date(0) }, Buffer.from(content));
  }
  archive.finalize();
  return buffer(archive);
}
