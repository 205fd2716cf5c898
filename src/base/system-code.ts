/** "ENOENT" and the like; empty for anything that is not a failed system call. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
