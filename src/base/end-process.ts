/**
 * Ends the process after `ms` if something still keeps it that nobody waits for any more, such as a connection whose
 * other end never answers. Otherwise it ends by itself, sooner.
 */
export function endProcessWithin(ms: number): void {
  setTimeout(() => process.exit(), ms).unref();
}
