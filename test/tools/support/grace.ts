import type { WorkspaceProvider } from '../../../src/domain/provider.ts';

/**
 * The provider with another grace between SIGTERM and SIGKILL than its callers ask for: commands that ignore the one
 * need not be waited for so long, and those that heed it have time on a slow machine.
 */
export function withGrace(provider: WorkspaceProvider, graceMs: number): WorkspaceProvider {
  const exec: WorkspaceProvider['exec'] = async (...call) => {
    const process = await provider.exec(...call);
    return {
      pid: process.pid,
      events: process.events,
      writeStdin: (data) => process.writeStdin(data),
      closeStdin: () => process.closeStdin(),
      kill: (signal) => process.kill(signal),
      end: () => process.end(graceMs),
    };
  };
  return new Proxy(provider, {
    get: (target, name): unknown => (name === 'exec' ? exec : Reflect.get(target, name)),
  });
}
