export interface TarFile {
  readonly name: string;
  readonly mode: number;
  readonly content: Uint8Array;
}

const block = 512;

/** A ustar archive of a few small files, with no times and owners, so that equal files give equal bytes. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap((file) => [
    header(file),
    file.content,
    Buffer.alloc((block - (file.content.length % block)) % block),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(file: TarFile): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, offset: number, length: number): void => {
    bytes.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'ascii');
  };
  if (Buffer.byteLength(file.name) > 100)
    throw new Error(`${file.name}: too long for a tar header`);
  bytes.write(file.name, 0);
  octal(file.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(file.content.length, 124, 12);
  octal(0, 136, 12);
  bytes.write('        0', 148, 'ascii');
  bytes.write('ustar\u000000', 257, 'ascii');
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return bytes;
}
