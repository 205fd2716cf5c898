import type { LaunchAnswer, LaunchRequest } from './launcher.ts';
import { run } from './run.ts';

/** The launcher's side of things: runs what it is told, and ends with the last program after its server has gone. */
const running = new Map<number, AbortController>();

function endIfAlone(): void {
  if (!process.connected && running.size === 0) process.exit(0);
}

async function serve(request: LaunchRequest): Promise<void> {
  const { id } = request;
  if ('abort' in request) {
    running.get(id)?.abort(new Error('aborted'));
    return;
  }
  const aborting = new AbortController();
  running.set(id, aborting);
  const answer = await run(request.argv, { ...request.options, signal: aborting.signal }).then(
    (result): LaunchAnswer => ({ id, result }),
    (): LaunchAnswer => ({ id }),
  );
  running.delete(id);
  if (process.connected) process.send?.(answer);
  endIfAlone();
}

process.on('message', (request: LaunchRequest) => void serve(request));
process.on('disconnect', endIfAlone);
