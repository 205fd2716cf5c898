/** A command for the shell that runs exactly these arguments: nothing in them is special to it. */
export function shellCommand(argv: readonly string[]): string {
  // The first word is always quoted: unquoted, "if" would be a keyword and "A=b" an assignment.
  return argv
    .map((argument, index) => (index === 0 ? quote(argument) : shellWord(argument)))
    .join(' ');
}

/** One argument, quoted where the shell would read more into it. */
export function shellWord(argument: string): string {
  return /^[\w@%+:,./-]+$/.test(argument) ? argument : quote(argument);
}

function quote(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
