const head = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,/;
const tail = /"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** Which of our calls a message answers whose whole text nobody has kept: told by how it begins, if it can be. */
export function idInHead(text: Buffer): number | null {
  return idIn(head, text);
}

/** The same by how it ends; one that ends in two braces has it somewhere inside. */
export function idInTail(text: Buffer): number | null {
  return idIn(tail, text);
}

function idIn(pattern: RegExp, text: Buffer): number | null {
  const digits = pattern.exec(text.toString('latin1'))?.[1];
  return digits === undefined ? null : Number(digits);
}
