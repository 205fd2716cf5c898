import type { Socket } from 'node:net';

/** What comes from one goes to the other; the end of either is the end of both. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    // Whoever is connected to the other one learns of it by its end.
    from.on('error', () => undefined);
    from.on('close', () => to.destroy());
  }
}
