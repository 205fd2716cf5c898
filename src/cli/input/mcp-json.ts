/** JSON as people write it into settings: with comments, trailing commas and a byte order mark. */
export function parseLooseJson(text: string): unknown {
  return JSON.parse(withoutTrailingCommas(withoutComments(text.replace(/^\uFEFF/, ''))));
}

const string = String.raw`"(?:[^"\\]|\\.)*"`;

/** Blanks in their place, so that the position in an error is still that in the file. */
function withoutComments(text: string): string {
  const pattern = new RegExp(String.raw`${string}|//[^\n]*|/\*[^]*?\*/`, 'g');
  return text.replace(pattern, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, ' '),
  );
}

function withoutTrailingCommas(text: string): string {
  const pattern = new RegExp(String.raw`${string}|,(?=\s*[\]}])`, 'g');
  return text.replace(pattern, (found) => (found === ',' ? ' ' : found));
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
