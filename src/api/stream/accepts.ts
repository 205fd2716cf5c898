/** Whether an Accept header names `type` itself, and not with a weight of zero. */
export function accepts(header: string | undefined, type: string): boolean {
  return (header ?? '').split(',').some((entry) => {
    const [name, ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    return name === type && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
