import { z } from 'zod';

const maxBytes = 16 * 1024;
const maxDepth = 32;

/** A caller's own facts about a workspace: any JSON object that the database can hold. */
export const metadata = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const problem = whatIsWrong(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .describe(`Any JSON object of at most ${String(maxBytes)} bytes.`);

function whatIsWrong(value: Readonly<Record<string, unknown>>): string | undefined {
  // Before the size is taken: serializing recurses, and a deep value would exhaust the stack.
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 1 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const problem = typeof next.value === 'string' ? badText(next.value) : undefined;
    if (problem !== undefined) return problem;
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > maxDepth) return `must not nest deeper than ${String(maxDepth)} levels`;
    for (const [key, inner] of Object.entries(next.value)) {
      pending.push({ value: key, depth: 0 }, { value: inner, depth: next.depth + 1 });
    }
  }
  return Buffer.byteLength(JSON.stringify(value)) > maxBytes
    ? `must be at most ${String(maxBytes)} bytes as JSON`
    : undefined;
}

function badText(value: string): string | undefined {
  if (value.includes('\0')) return 'must not contain NUL characters';
  return value.isWellFormed() ? undefined : 'must be well-formed Unicode';
}
