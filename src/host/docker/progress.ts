import { z } from 'zod';

const lineSchema = z.object({
  stream: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
  aux: z.object({ ID: z.string().optional() }).optional(),
});

/**
 * Reads the JSON lines that the engine sends while it pulls, builds or imports. Returns the last line's status
 * (an import's is the new image's id); an error line becomes an Error.
 */
export async function followProgress(
  stream: NodeJS.ReadableStream,
  onLine: (line: string) => void = () => undefined,
): Promise<{ readonly lastStatus: string; readonly imageId: string | undefined }> {
  let partial = '';
  let lastStatus = '';
  let imageId: string | undefined;
  const take = (text: string): void => {
    if (text.trim() === '') return;
    const line = lineSchema.parse(JSON.parse(text));
    if (line.error !== undefined) throw new Error(line.error.trim());
    imageId = line.aux?.ID ?? imageId;
    lastStatus = line.status ?? lastStatus;
    const said = (line.stream ?? line.status ?? '').trim();
    if (said !== '') onLine(said);
  };
  for await (const chunk of stream) {
    const lines = (partial + chunk.toString()).split('\n');
    partial = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
  take(partial);
  return { lastStatus, imageId };
}
