import { startPrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Grounds } from './run.ts';

export type DatabaseKind = 'pglite' | 'postgres';

/** An engine, and where asked a PostgreSQL server, that were started for this and go with it. */
export async function openGrounds(database: DatabaseKind): Promise<Grounds & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { image } = await testHost();
  const engine = opening.use(await startPrivateEngine({ images: [image] }));
  const grounds: Grounds = {
    engine: {
      socket: engine.socket,
      docker: engine.docker,
      crash: () => engine.kill(),
      start: () => engine.start(),
      strays: () => engine.strays(),
    },
  };
  const stored = database === 'postgres' ? opening.use(await openDatabase()) : undefined;
  const opened = opening.move();
  return {
    ...grounds,
    ...(stored && { database: stored }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export async function openDatabase(): Promise<NonNullable<Grounds['database']> & AsyncDisposable> {
  const postgres = await startPostgres();
  return {
    url: await postgres.createDatabase(),
    crash: () => postgres.stop('immediate'),
    start: () => postgres.start(),
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
}
