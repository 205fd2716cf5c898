import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Dial } from '../guest/dial.ts';
import { notRunning } from '../guest/not-running.ts';
import { agentPath } from './container-spec.ts';
import { containerState } from './container-state.ts';
import { engineCall, engineStatus } from './docker.ts';
import { ExecStream } from './exec-stream.ts';

const dialMs = 10_000;
const lastWordsMs = 1_000;

/**
 * The way to the agent of a container: an exec of `agent bridge`, whose standard input and output are the
 * stream. It needs no network and works with a remote engine just the same.
 */
export function execDial(docker: Docker, name: string, clock: Clock): Dial {
  const container = docker.getContainer(name);
  return async (signal) => {
    try {
      const exec = await engineCall(
        'opening a bridge',
        dialMs,
        (abortSignal) =>
          container.exec({
            Cmd: [agentPath, 'bridge'],
            User: '0:0',
            AttachStdin: true,
            AttachStdout: true,
            AttachStderr: true,
            abortSignal,
          }),
        signal,
      );
      const socket = await engineCall(
        'starting a bridge',
        dialMs,
        (abortSignal): Promise<Duplex> => exec.start({ hijack: true, stdin: true, abortSignal }),
        signal,
      );
      const stream = new ExecStream(socket);
      void endWithContainer(stream, container, clock);
      return stream;
    } catch (error) {
      throw engineStatus(error) === undefined ? error : await explained(error, container, signal);
    }
  };
}

/**
 * The engine does not always close an exec whose container ends, and one that is started just then never says
 * anything: so the container's end is the stream's. What was said before it still has a moment to arrive.
 */
async function endWithContainer(
  stream: ExecStream,
  container: Docker.Container,
  clock: Clock,
): Promise<void> {
  const open = new AbortController();
  stream.once('close', () => {
    open.abort();
  });
  try {
    // As long as the stream: it has no deadline of its own.
    await container.wait({ abortSignal: open.signal });
    if (stream.spoke) await clock.sleep(lastWordsMs, open.signal);
  } catch (error) {
    // The engine went away, which ends the stream as well, or the stream has ended.
    if (engineStatus(error) !== 404) return;
  }
  if (open.signal.aborted) return;
  const ended = new EmergentError('sandbox_unreachable', 'the container has ended');
  stream.destroy(await explained(ended, container, AbortSignal.timeout(dialMs)));
}

/** Why the engine refused: to a caller, a container that does not run is a sandbox that is gone. */
async function explained(
  refusal: unknown,
  container: Docker.Container,
  signal: AbortSignal,
): Promise<Error> {
  const named = `the container ${container.id}`;
  const failed = new EmergentError(
    'sandbox_unreachable',
    `${named} cannot be reached: ${reasonOf(refusal)}`,
    { cause: refusal },
  );
  try {
    const { State } = await engineCall(
      'looking for the container',
      dialMs,
      (abortSignal) => container.inspect({ abortSignal }),
      signal,
    );
    const { end, paused } = containerState(State);
    if (end !== undefined) return notRunning(named, `is not running: ${end}`, refusal);
    if (!paused) return failed;
    return new EmergentError('sandbox_unreachable', `${named} is paused`, { cause: refusal });
  } catch (error) {
    return engineStatus(error) === 404 ? notRunning(named, 'does not exist', refusal) : failed;
  }
}
