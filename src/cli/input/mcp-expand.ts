export type Variables = Readonly<Record<string, string | undefined>>;

/** What cannot be carried over from a client's settings, said so that its owner can mend it. */
export class NotMappable extends Error {
  override readonly name = 'NotMappable';
}

/** What editors fill in by themselves. */
const editorNames = new Set(['workspaceFolder', 'workspaceFolderBasename', 'userHome']);

/** `${NAME}`, `${NAME:-default}` and `${env:NAME}`, from `variables`. */
export function expand(text: string, variables: Variables): string {
  return text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    const [, name = '', fallback] = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inside) ?? [];
    const value = variables[name];
    if (name === '' || (editorNames.has(inside) && value === undefined)) {
      throw new NotMappable(unknownPlaceholder(whole, inside));
    }
    if (fallback !== undefined) return value || fallback;
    if (value !== undefined) return value;
    throw new NotMappable(`${name} is not set here: export it, then import again`);
  });
}

function unknownPlaceholder(whole: string, inside: string): string {
  if (inside.startsWith('input:')) {
    return `${whole} is asked for by the editor: write \${env:NAME} in its place, and export NAME`;
  }
  return `${whole} means something on this machine only: write the value in its place`;
}
