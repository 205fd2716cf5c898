const maxLength = 255;

/** A volume would hide these, or they it: what the sandbox is made of. */
const reserved: Readonly<Record<string, string>> = {
  '/workspace': 'is kept anyway',
  '/proc': 'belongs to the system',
  '/sys': 'belongs to the system',
  '/dev': 'belongs to the system',
  '/.emergent': 'belongs to the sandbox itself',
};

/** Why no volume can lie at this path of a sandbox; undefined: one can. */
export function volumePathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return `"${path}" is not an absolute path`;
  if (path.length > maxLength) return `a path has at most ${String(maxLength)} characters`;

  if (/[\u0000-\u001f\u007f]/.test(path)) return 'a path has no control characters';
  if (path === '/') return '"/" is the whole sandbox';
  const names = path.slice(1).split('/');
  if (names.some((name) => ['', '.', '..'].includes(name))) {
    return `"${path}" is not in its shortest form: no "//", ".", ".." and no slash at the end`;
  }
  // It is memory; what lies below it can be a volume.
  if (path === '/tmp') return '"/tmp" is cleared by every start';
  const taken = Object.entries(reserved).find(([place]) => isInside(path, place));
  return taken && `"${path}": ${taken[0]} ${taken[1]}`;
}

/** The same for all volumes of one sandbox: none may lie inside another. */
export function volumePathsProblem(paths: readonly string[]): string | undefined {
  for (const [at, path] of paths.entries()) {
    const problem = volumePathProblem(path);
    if (problem !== undefined) return problem;
    const others = paths.filter((_, index) => index !== at);
    if (others.includes(path)) return `"${path}" is given twice`;
    const outer = others.find((other) => isInside(path, other));
    if (outer !== undefined) return `"${path}" lies inside "${outer}"`;
  }
  return undefined;
}

function isInside(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
