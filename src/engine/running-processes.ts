import type { ExecProcess } from '../domain/exec.ts';

/** The commands that this server is running now, so that a caller can signal one by its workspace and pid. */
export class RunningProcesses {
  readonly #byWorkspace = new Map<string, Map<number, ExecProcess>>();

  /** The returned function forgets the process. */
  add(workspaceId: string, process: ExecProcess): () => void {
    const processes = this.#byWorkspace.get(workspaceId) ?? new Map<number, ExecProcess>();
    this.#byWorkspace.set(workspaceId, processes);
    processes.set(process.pid, process);
    return () => {
      if (processes.get(process.pid) === process) processes.delete(process.pid);
      if (processes.size === 0 && this.#byWorkspace.get(workspaceId) === processes) {
        this.#byWorkspace.delete(workspaceId);
      }
    };
  }

  find(workspaceId: string, pid: number): ExecProcess | undefined {
    return this.#byWorkspace.get(workspaceId)?.get(pid);
  }

  get count(): number {
    let count = 0;
    for (const processes of this.#byWorkspace.values()) count += processes.size;
    return count;
  }
}
