import { findProgram } from '../programs.ts';
import type { RootAccess } from '../root.ts';
import { run } from '../run.ts';
import { SetupError } from './step.ts';
import type { Note } from './step.ts';

const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
const lockWait = ['-o', 'DPkg::Lock::Timeout=120'];
const installMs = 15 * 60_000;

/** Installs Debian packages; the package lists are fetched only when the first try fails without them. */
export async function aptInstall(
  packages: readonly string[],
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<void> {
  if ((await findProgram('apt-get')) === undefined) {
    throw new SetupError(
      `${packages.join(', ')}: not installed, and this system has no apt-get`,
      `install with the system's package manager: ${packages.join(' ')}`,
    );
  }
  const install = ['apt-get', ...lockWait, 'install', '-y', '--no-install-recommends', ...packages];
  if (root.kind === 'sudo') note(`asking sudo for root to run: ${install.join(' ')}`);
  const options = { timeoutMs: installMs, env, onLine: note, signal };
  if (await allKnown(packages, signal)) {
    const first = await root.run(install, options).catch((error: unknown) => error);
    if (!(first instanceof Error)) return;
    signal.throwIfAborted();
    note(`${first.message}; once more with fresh package lists`);
  }
  await root.run(['apt-get', ...lockWait, 'update'], options);
  await root.run(install, options);
}

async function allKnown(packages: readonly string[], signal: AbortSignal): Promise<boolean> {
  const shown = await run(['apt-cache', 'show', '--no-all-versions', ...packages], {
    timeoutMs: 30_000,
    signal,
  });
  return shown.ok;
}
