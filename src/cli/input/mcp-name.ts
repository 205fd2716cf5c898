const longest = 63;
const looksLikeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The nearest name that the server accepts: small letters, digits, dots, dashes and underscores. */
export function acceptableName(text: string): string {
  const name = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, longest)
    .replace(/[^a-z0-9]+$/, '');
  if (name === '') return 'server';
  return looksLikeId.test(name) ? `server-${name}` : name;
}
