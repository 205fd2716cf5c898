import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** An MCP server as any other, to be hosted: run as a program of its own. Without its key it does not start. */
if (process.env['KEY'] === undefined) {
  process.stderr.write('KEY is not set\n');
  process.exit(3);
}
process.stderr.write('ready\n');

let count = 0;

serveStdio(() => {
  const server = new McpServer({ name: 'counter', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Counts.', inputSchema: z.object({ by: z.number().default(1) }) },
    ({ by }) => {
      count += by;
      process.stderr.write(`counted to ${String(count)}\n`);
      return { content: [{ type: 'text', text: String(count) }] };
    },
  );
  server.registerTool('key', { description: 'Tells its key.' }, () => ({
    content: [{ type: 'text', text: process.env['KEY'] ?? '' }],
  }));
  server.registerTool('fail', { description: 'Fails.' }, () => ({
    content: [{ type: 'text', text: 'as it should' }],
    isError: true,
  }));
  return server;
});
