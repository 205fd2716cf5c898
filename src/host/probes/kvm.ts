import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { arch, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

import { cacheDir } from '../paths.ts';
import { findProgram } from '../programs.ts';
import { run } from '../run.ts';
import type { Finding } from './check.ts';

const bootMs = 6_000;
const debugPort = 0x501;
const written = 0x31;
/** QEMU's debug-exit device ends the process with (value << 1) | 1. */
const guestExitCode = (written << 1) | 1;

const cachedSchema = z.object({ key: z.string(), runs: z.boolean(), reason: z.string() });

/**
 * Whether KVM really runs a guest. A device that opens proves nothing: a paravirtual KVM without hardware
 * support emulates each instruction and never gets through a boot. The answer is kept for this boot.
 */
export async function lookAtKvm(signal: AbortSignal): Promise<Finding> {
  const opens = await access('/dev/kvm', constants.R_OK | constants.W_OK).catch(
    (error: unknown) => error as NodeJS.ErrnoException,
  );
  if (opens) return cannotOpen(opens);
  const qemu = arch() === 'x64' ? await findProgram('qemu-system-x86_64') : undefined;
  if (qemu === undefined) {
    return {
      state: 'reduced',
      reason: '/dev/kvm opens, but no VMM is installed to test that it runs a guest',
      remedy: arch() === 'x64' ? 'install qemu-system-x86 to have it tested' : 'see microVM tools',
    };
  }
  const { runs, reason } = await bootOnce(qemu, signal);
  return runs
    ? { state: 'ok', reason }
    : {
        state: 'broken',
        reason,
        remedy:
          'needs hardware virtualisation (on a VM: nested virtualisation); gVisor works without',
      };
}

function cannotOpen(error: NodeJS.ErrnoException): Finding {
  return error.code === 'ENOENT'
    ? {
        state: 'missing',
        reason: 'this host has no /dev/kvm',
        remedy: 'only microVMs need it; gVisor works without',
      }
    : {
        state: 'broken',
        reason: `/dev/kvm cannot be opened (${error.code ?? error.message})`,
        remedy: 'sudo usermod -aG kvm "$USER", then log in again',
      };
}

async function bootOnce(
  qemu: string,
  signal: AbortSignal,
): Promise<{ runs: boolean; reason: string }> {
  const path = join(cacheDir(), 'probes/kvm.json');
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const key = `${release()} ${boot.trim()} ${qemu}`;
  const kept = await readFile(path, 'utf8')
    .then((text) => cachedSchema.safeParse(JSON.parse(text)).data)
    .catch(() => undefined);
  if (kept?.key === key) return kept;
  const result = await bootSector(qemu, signal);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, JSON.stringify({ key, ...result }));
  return result;
}

/** Boots a disk whose only instructions write one byte to QEMU's debug-exit port. */
async function bootSector(
  qemu: string,
  signal: AbortSignal,
): Promise<{ runs: boolean; reason: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-kvm-'));
  try {
    const disk = join(directory, 'boot.img');
    await writeFile(disk, bootDisk());
    const result = await run(
      [
        ...[qemu, '-machine', 'pc,accel=kvm', '-m', '16', '-nodefaults', '-no-user-config'],
        ...['-display', 'none', '-no-reboot', '-boot', 'c'],
        ...['-drive', `file=${disk},format=raw,if=ide`],
        ...['-device', `isa-debug-exit,iobase=0x${debugPort.toString(16)},iosize=1`],
      ],
      { timeoutMs: bootMs, signal },
    );
    if (result.exitCode === guestExitCode) return { runs: true, reason: 'runs a guest' };
    const why = result.timedOut
      ? `it did not boot within ${String(bootMs / 1000)} s`
      : (result.failure ?? 'it ended early');
    return { runs: false, reason: `/dev/kvm opens, but does not run a guest: ${why}` };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function bootDisk(): Buffer {
  const disk = Buffer.alloc(64 * 1024);
  disk.set([0xba, debugPort & 0xff, debugPort >> 8]); // mov dx, port
  disk.set([0xb0, written, 0xee, 0xf4], 3); // mov al, value; out dx, al; hlt
  disk.set([0x55, 0xaa], 510);
  return disk;
}
