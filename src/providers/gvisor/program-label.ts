import type { ImageProgram } from '../../domain/provider.ts';

/**
 * On a container: what its image is made to run. A container runs our agent instead, and by the time it is started
 * again its image may be gone, or another may have its name.
 */
export const programLabel = 'dev.emergent.program';

export function programText(program: ImageProgram): string {
  return JSON.stringify(program);
}

/** Undefined for a container that does not say. */
export function programOf(labels: Readonly<Record<string, string>>): ImageProgram | undefined {
  const text = labels[programLabel];
  return text === undefined ? undefined : (JSON.parse(text) as ImageProgram);
}
