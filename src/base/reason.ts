/** What went wrong, in one line, for logs and collected reasons. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
