import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import type { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { McpToolResult } from '../http/mcp-types.ts';
import { parseDurationMs } from '../input/duration.ts';
import { jsonArguments, typedArguments } from '../input/mcp-tool-arguments.ts';
import type { ToolArguments } from '../input/mcp-tool-arguments.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { allTools } from '../remote/mcp-tools.ts';
import { contentText } from '../terminal/mcp-content.ts';
import { printable, printJson, write } from '../terminal/output.ts';

interface CallOptions extends CommonOptions {
  readonly timeout: number;
}

export function defineCall(command: Command): void {
  commonOptions(command)
    .description('Call a tool of an MCP server and print what it answers.')
    .argument('<name>', 'name or id of the server')
    .argument('<tool>', 'name of the tool, as `emergent mcp tools` shows it')
    .argument('[arguments...]', 'key=value for each, or one JSON object, or - for JSON from stdin')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the answer')
        .argParser(parseDurationMs)
        .default(60_000, '60s'),
    )
    .addHelpText(
      'after',
      `
A value is what the tool's schema says it is: text, a number, true or false, or JSON for lists and objects; a key
that is said several times makes a list. Text is printed as it is, and pictures, sounds and files in one line each;
--json prints the whole answer. Where the tool says that it failed, its words go to standard error, and the exit
code is 1. Ctrl-C cancels the call.

Examples:
  emergent mcp call everything get-sum a=2 b=3
  emergent mcp call memory add_observations '{"observations":[{"entityName":"tea","contents":["green"]}]}'
  emergent mcp call files read_text_file path=/data/notes.md head=20 --timeout 5s`,
    )
    .action(async (name: string, tool: string, words: string[]) => {
      await call(name, tool, words, command.optsWithGlobals());
    });
}

async function call(
  name: string,
  tool: string,
  words: readonly string[],
  options: CallOptions,
): Promise<void> {
  const client = ApiClient.connect(options);
  const given = words.length === 1 && words[0] === '-' ? [await text(process.stdin)] : words;
  const json = jsonArguments(given);
  const result = (await client.mcp.call(name, {
    method: 'tools/call',
    params: { name: tool, arguments: json ?? (await typedBySchema(client, name, tool, given)) },
    timeout_ms: options.timeout,
  })) as McpToolResult;
  const failed = result.isError === true;
  if (failed) process.exitCode = exitCodes.failure;
  if (options.json === true) await printJson(result);
  else await show(contentText(result), failed ? process.stderr : process.stdout);
}

async function typedBySchema(
  client: ApiClient,
  server: string,
  name: string,
  words: readonly string[],
): Promise<ToolArguments> {
  const tools = await allTools(client.mcp, server);
  const tool = tools.find((one) => one.name === name);
  if (tool) return typedArguments(words, tool);
  throw new Failure('tool_not_found', `${server} has no tool ${name}`, {
    hint: `See: emergent mcp tools ${server}`,
  });
}

/** As it is into a file or a pipe; on a terminal it must not command that. */
async function show(answer: string, to: NodeJS.WriteStream): Promise<void> {
  if (answer === '') return;
  const shown = to.isTTY ? printable(answer) : answer;
  await write(to, shown.endsWith('\n') ? shown : `${shown}\n`);
}
