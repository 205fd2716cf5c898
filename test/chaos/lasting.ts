import { until } from './until.ts';

export interface Complaint {
  /** What it is about. */
  readonly subject: string;
  readonly complaint: string;
}

/** What is found at every look until the time is over: what is only on its way is not there at one of them. */
export async function lasting(
  look: () => Promise<readonly Complaint[]>,
  withinMs: number,
): Promise<readonly Complaint[]> {
  let found = await look();
  if (found.length === 0) return found;
  await until(async () => {
    const now = new Set((await look()).map(wordsOf));
    found = found.filter((each) => now.has(wordsOf(each)));
    return found.length === 0;
  }, withinMs);
  return found;
}

function wordsOf({ subject, complaint }: Complaint): string {
  return `${subject} ${complaint}`;
}
