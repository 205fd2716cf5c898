import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EmergentError } from '../../domain/errors.ts';

/** Every route of a server, to tell a wrong path from a wrong method. Made before the routes are added. */
export class RouteTable {
  readonly #routes: { readonly pattern: RegExp; readonly method: string }[] = [];

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const pattern = new RegExp(`^${url.replace(/:\w+/g, '[^/]+')}/?$`);
      for (const name of [method].flat()) this.#routes.push({ pattern, method: name });
    });
  }

  /** The methods that a path answers. */
  methodsOf(path: string): readonly string[] {
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.map(({ method }) => method))];
  }

  /** What to answer to a request that no route takes. */
  refuse(request: FastifyRequest, reply: FastifyReply): EmergentError {
    const path = request.url.split('?', 1)[0] ?? '/';
    const methods = this.methodsOf(path);
    if (methods.length === 0)
      return new EmergentError('not_found', `there is no ${shortened(path)}`);
    reply.header('allow', methods.join(', '));
    return new EmergentError(
      'not_found',
      `${shortened(path)} does not answer ${request.method}, only ${methods.join(', ')}`,
    );
  }
}

function shortened(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}
