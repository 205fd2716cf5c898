import { homedir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';

/** Where an engine listens. Only `unix` endpoints can belong to this machine. */
export type Endpoint =
  | { readonly kind: 'unix'; readonly socketPath: string }
  | { readonly kind: 'remote'; readonly url: string };

type Env = Readonly<Record<string, string | undefined>>;

export const systemSocket = '/var/run/docker.sock';

/** DOCKER_HOST alone when it is set; otherwise every place an engine usually listens, best first. */
export function endpoints(env: Env = process.env): [Endpoint, ...Endpoint[]] {
  const host = env['DOCKER_HOST'];
  if (host !== undefined && host !== '') {
    return host.startsWith('unix://')
      ? [{ kind: 'unix', socketPath: host.slice('unix://'.length) || systemSocket }]
      : [{ kind: 'remote', url: host }];
  }
  const runtimeDir = env['XDG_RUNTIME_DIR'];
  const sockets = [
    ...(runtimeDir === undefined ? [] : [join(runtimeDir, 'docker.sock')]),
    join(homedir(), '.docker/desktop/docker.sock'),
    join(homedir(), '.docker/run/docker.sock'),
  ];
  return [
    { kind: 'unix', socketPath: systemSocket },
    ...sockets.map((socketPath) => ({ kind: 'unix' as const, socketPath })),
  ];
}

/** A remote endpoint is read from DOCKER_HOST and its companions (TLS, ssh) by the client itself. */
export function connect(endpoint: Endpoint): Docker {
  return endpoint.kind === 'unix' ? new Docker({ socketPath: endpoint.socketPath }) : new Docker();
}

export function describeEndpoint(endpoint: Endpoint): string {
  return endpoint.kind === 'unix' ? endpoint.socketPath : endpoint.url;
}
