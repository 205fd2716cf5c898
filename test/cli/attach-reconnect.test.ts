import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { Cli } from './support/cli.ts';
import { ScriptedServer, someId, someProcess } from './support/scripted-server.ts';

const args = ['attach', someId, someProcess];

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Answers the n-th request for output with the n-th script; the last one again and again. */
function scripted(
  ...scripts: readonly ((response: ServerResponse) => void)[]
): (request: IncomingMessage, response: ServerResponse) => void {
  let next = 0;
  return (_, response) => {
    const script = scripts[Math.min(next, scripts.length - 1)];
    next += 1;
    script?.(response);
  };
}

function stream(...events: readonly string[]): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events.join(''));
  };
}

function ending(...events: readonly string[]): (response: ServerResponse) => void {
  return (response) => {
    stream(...events)(response);
    response.end();
  };
}

const refusal =
  (status: number, code: string): ((response: ServerResponse) => void) =>
  (response) => {
    const error = { code, message: 'not now', hint: 'Later.' };
    response.writeHead(status).end(JSON.stringify({ error }));
  };

const offsets = (server: ScriptedServer): (string | undefined)[] =>
  server.requests.map((request) => /offset=(\d+)/.exec(request)?.[1]);

test('goes on behind the last byte after a break, an end and an answer that says later', async () => {
  await using server = await ScriptedServer.start(
    scripted(
      // The last event is cut off in the middle: none of it was taken.
      (response) => {
        stream(
          event('stdout', { text: 'one ', offset: 4 }),
          'event: stdout\ndata: {"text":"tw',
        )(response);
        response.end();
      },
      refusal(503, 'shutting_down'),
      (response) => response.destroy(),
      ending(event('stdout', { text: 'two ', offset: 8 })),
      ending(
        event('stderr', { base64: Buffer.from('three').toString('base64'), offset: 13 }),
        event('exit', { exit_code: 9, signal: null }),
      ),
    ),
  );
  const { code, stdout, stderr } = await new Cli(args, { env: server.env }).ended;
  expect({ code, stdout }).toEqual({ code: 9, stdout: 'one two ' });
  expect(stderr.replace('three', '')).toMatch(
    /^(emergent: the connection to \S+ was lost; connecting again\nemergent: connected again\n){2}$/,
  );
  expect(stderr).toContain('three');
  expect(offsets(server)).toEqual(['0', '4', '4', '4', '8']);
});

test('output that is gone is told, and counted', async () => {
  await using server = await ScriptedServer.start(
    scripted(
      ending(event('skipped', { bytes: 7, offset: 7 })),
      ending(event('exit', { exit_code: 0, signal: null })),
    ),
  );
  const { code, stderr } = await new Cli(args, { env: server.env }).ended;
  expect(code).toBe(0);
  expect(stderr).toContain('emergent: 7 bytes of output are no longer kept\n');
  expect(offsets(server)).toEqual(['0', '7']);
});

test('what cannot pass is not tried again', async () => {
  await using server = await ScriptedServer.start(
    scripted(ending(event('stdout', { text: 'x', offset: 1 })), refusal(404, 'process_not_found')),
  );
  const { code, stderr } = await new Cli(args, { env: server.env }).ended;
  expect(code).toBe(125);
  expect(stderr).toMatch(/emergent: not now\. Later\.\n$/);
  expect(server.requests).toHaveLength(2);
});

test('a server that was never there is not waited for', async () => {
  await using server = await ScriptedServer.start(scripted(refusal(503, 'shutting_down')));
  const { code, stderr } = await new Cli(args, { env: server.env }).ended;
  expect({ code, stderr }).toEqual({ code: 125, stderr: 'emergent: not now. Later.\n' });
  expect(server.requests).toHaveLength(1);
});

test('Ctrl-C leaves, also while waiting for the server, and says how to come back', async () => {
  await using server = await ScriptedServer.start(
    scripted(ending(event('stdout', { text: 'x', offset: 1 })), refusal(503, 'store_unavailable')),
  );
  const running = new Cli(args, { env: server.env });
  await running.shows('stderr', 'connecting again');
  running.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain(
    `emergent: detached; the process goes on. To go on: emergent attach ${someId} ${someProcess} --offset 1\n`,
  );
});
