import type { WriteRequest, WriteResult } from '../../domain/tools.ts';
import type { Target } from '../operation.ts';

/** Makes the text the whole content of a file; its parents are made. */
export function writeTool(
  { provider, ref }: Pick<Target, 'provider' | 'ref'>,
  { path, content }: WriteRequest,
  signal: AbortSignal,
): Promise<WriteResult> {
  return provider.writeFile(ref, path, bytesOf(content), signal);
}

async function* bytesOf(content: string): AsyncGenerator<Uint8Array> {
  if (content !== '') yield Buffer.from(content);
}
