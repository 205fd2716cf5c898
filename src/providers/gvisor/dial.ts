import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { Dial } from '../guest/dial.ts';
import { agentPath } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';
import { ExecStream } from './exec-stream.ts';

const dialMs = 10_000;

/**
 * The way to the agent of a container: an exec of `agent bridge`, whose standard input and output are the
 * stream. It needs no network and works with a remote engine just the same.
 */
export function execDial(docker: Docker, container: string): Dial {
  return async (signal) => {
    try {
      const exec = await engineCall(
        'opening a bridge',
        dialMs,
        (abortSignal) =>
          docker.getContainer(container).exec({
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
      return new ExecStream(socket);
    } catch (error) {
      throw unreachable(error, container);
    }
  };
}

/** No such container, or it does not run: to a caller the sandbox is gone. */
function unreachable(error: unknown, container: string): unknown {
  const status = engineStatus(error);
  if (status !== 404 && status !== 409) return error;
  const state = status === 404 ? 'does not exist' : 'is not running';
  return new EmergentError('sandbox_unreachable', `the container ${container} ${state}`, {
    cause: error,
  });
}
