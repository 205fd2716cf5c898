/** The numbers of a version such as "go1.26.7", "20.10.24+dfsg1", "v24.1"; empty when there are none. */
export function versionNumbers(text: string): number[] {
  const match = /\d+(?:\.\d+)*/.exec(text);
  return match ? match[0].split('.').map(Number) : [];
}

/** Negative, zero or positive, number by number; what is missing counts as zero. */
export function compareVersions(left: string, right: string): number {
  const a = versionNumbers(left);
  const b = versionNumbers(right);
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function atLeast(version: string, minimum: string): boolean {
  return versionNumbers(version).length > 0 && compareVersions(version, minimum) >= 0;
}
