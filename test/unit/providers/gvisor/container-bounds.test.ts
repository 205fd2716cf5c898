import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limitBounds } from '../../../../src/domain/limits.ts';
import { containerBounds } from '../../../../src/providers/gvisor/container-bounds.ts';
import { gvisorProfile, plainProfile } from '../../../../src/providers/gvisor/container-profile.ts';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const diskBytes = GiB;
const gvisor = gvisorProfile('runsc');

describe('containerBounds', () => {
  test('of the default workspace', () => {
    expect(containerBounds({ cpu: 2, memoryBytes: 4 * GiB, diskBytes }, gvisor)).toEqual({
      engineMemoryBytes: 4 * GiB + 384 * MiB,
      tmpBytes: 2 * GiB,
      shmBytes: 64 * MiB,
      maxProcesses: 2_048,
    });
  });

  test('of a small one', () => {
    expect(containerBounds({ cpu: 0.5, memoryBytes: 64 * MiB, diskBytes }, gvisor)).toEqual({
      engineMemoryBytes: 320 * MiB,
      tmpBytes: 32 * MiB,
      shmBytes: 16 * MiB,
      maxProcesses: 256,
    });
  });

  test('of a plain container: gVisor itself needs no room', () => {
    const limits = { cpu: 2, memoryBytes: 4 * GiB, diskBytes };
    expect(containerBounds(limits, plainProfile(true)).engineMemoryBytes).toBe(4 * GiB + 256 * MiB);
  });

  test('files in memory never fill it, and the head-room grows with what can fill it', () => {
    const cpu = fc.double({ ...limitBounds.cpu, noNaN: true });
    const memory = fc.integer(limitBounds.memoryBytes);
    fc.assert(
      fc.property(cpu, memory, (cores, memoryBytes) => {
        const bounds = containerBounds({ cpu: cores, memoryBytes, diskBytes }, gvisor);
        expect(Object.values(bounds).every(Number.isSafeInteger)).toBe(true);
        expect(bounds.tmpBytes + bounds.shmBytes).toBeLessThanOrEqual(0.75 * memoryBytes);
        expect(bounds.engineMemoryBytes - memoryBytes).toBeGreaterThanOrEqual(256 * MiB);
        expect(bounds.engineMemoryBytes - memoryBytes).toBeGreaterThanOrEqual(cores * 128 * MiB);
        expect(bounds.maxProcesses).toBeGreaterThanOrEqual(256);
        expect(bounds.maxProcesses).toBeLessThanOrEqual(4_096);
      }),
    );
  });
});
