import { arch } from 'node:os';

import { findProgram } from '../programs.ts';
import { lastLines, run } from '../run.ts';
import type { Finding } from './check.ts';

const emulator = arch() === 'arm64' ? 'qemu-system-aarch64' : 'qemu-system-x86_64';

export async function lookAtMicrovmTools(signal: AbortSignal): Promise<Finding> {
  const [firecracker, qemu] = await Promise.all([
    versionLine('firecracker', signal),
    versionLine(emulator, signal),
  ]);
  const details = { firecracker, qemu };
  if (firecracker !== undefined) return { state: 'ok', reason: firecracker, details };
  if (qemu !== undefined) {
    return {
      state: 'reduced',
      reason: `${qemu}; no Firecracker`,
      remedy: 'install the firecracker release binary on the PATH',
      details,
    };
  }
  return {
    state: 'missing',
    reason: 'neither firecracker nor QEMU is installed',
    remedy: 'only microVMs need them; gVisor works without',
    details,
  };
}

async function versionLine(name: string, signal: AbortSignal): Promise<string | undefined> {
  const path = await findProgram(name);
  if (path === undefined) return undefined;
  const result = await run([path, '--version'], { timeoutMs: 5_000, signal });
  return result.stdout.split('\n')[0]?.trim() || `${name} (${lastLines(result.stderr, 1)})`;
}
