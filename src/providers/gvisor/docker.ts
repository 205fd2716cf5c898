import Docker from 'dockerode';
import { DeadlineError, withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';

export const defaultSocket = '/var/run/docker.sock';

/** A client of the engine that DOCKER_HOST names; the local socket when it is unset. */
export function dockerClient(dockerHost: string | undefined): Docker {
  if (dockerHost === undefined) return new Docker({ socketPath: defaultSocket });
  if (dockerHost.startsWith('unix://')) {
    return new Docker({ socketPath: dockerHost.slice('unix://'.length) });
  }
  const url = new URL(dockerHost);
  return new Docker({
    protocol: url.protocol === 'https:' ? 'https' : 'http',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (defaultPorts[url.protocol] ?? 2375) : Number(url.port),
  });
}

/** A URL does not show the port that is its protocol's own. */
const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** One call to the engine: bounded in time, its failures said in our words. */
export async function engineCall<T>(
  doing: string,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  try {
    return await withDeadline(`the Docker engine, ${doing},`, ms, call, outer);
  } catch (error) {
    throw toEmergentError(error, doing);
  }
}

/** The HTTP status of the engine's refusal; undefined when there was no answer. */
export function engineStatus(error: unknown): number | undefined {
  if (error instanceof EmergentError) return engineStatus(error.cause);
  const status: unknown =
    typeof error === 'object' && error !== null && 'statusCode' in error && error.statusCode;
  return typeof status === 'number' ? status : undefined;
}

function toEmergentError(error: unknown, doing: string): Error {
  if (error instanceof EmergentError || error instanceof DeadlineError) return error;
  if (engineStatus(error) === undefined && isConnectionError(error)) {
    return new EmergentError('provider_unavailable', unreachableReason(error), {
      hint: engineRemedy,
      cause: error,
    });
  }
  return new EmergentError('provider_failed', `${doing}: ${engineMessage(error)}`, {
    cause: error,
  });
}

export const engineRemedy =
  'Start the Docker engine (`systemctl start docker`, or `emergent serve` starts it), then try again.';

const connectionCodes = [
  ...['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE', 'EACCES', 'ENOTFOUND', 'ETIMEDOUT'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
];

function isConnectionError(error: unknown): boolean {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error && error.code;
  return typeof code === 'string' && connectionCodes.includes(code);
}

function unreachableReason(error: unknown): string {
  return `Docker engine unreachable: ${reasonOf(error)}`;
}

/** The engine wraps its message in "(HTTP code 404) no such image - …"; the part after it is enough. */
function engineMessage(error: unknown): string {
  const json: unknown =
    typeof error === 'object' && error !== null && 'json' in error && error.json;
  if (typeof json === 'object' && json !== null && 'message' in json) return String(json.message);
  return reasonOf(error);
}
