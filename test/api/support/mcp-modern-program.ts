import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { hosted } from './mcp-program.ts';
import type { HostedProgram } from './mcp-program.ts';

/** A server of 2026-07-28 that speaks nothing else: it asks by answering that it needs input. */
export function modernProgram(): Promise<HostedProgram> {
  const factory = () => {
    const server = new McpServer({ name: 'modern-program', version: '2.0.0' });
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }));
    server.registerTool('greet', {}, (context) => {
      const answered = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, 'name');
      if (answered) return { content: [{ type: 'text', text: `hello ${answered.name}` }] };
      return inputRequired({
        inputRequests: {
          name: inputRequired.elicit({
            message: 'who?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
          }),
        },
      });
    });
    return server;
  };
  return hosted(async (stdin, stdout) => {
    serveStdio(factory, { legacy: 'reject', transport: new StdioServerTransport(stdin, stdout) });
  });
}
