import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import type { WorkspaceEvent } from '../http/api-types.ts';
import { ApiClient } from '../http/client.ts';
import type { EventFilter } from '../http/event-client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { followEvents } from '../remote/follow-events.ts';
import { resolveIdInLog } from '../remote/ids.ts';
import { eventLine } from '../terminal/event-line.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';

interface EventsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly type?: readonly string[];
  readonly limit: number;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Show what happened to workspaces and in them, newest last.')
    .argument('[id]', 'only of this workspace; it may be gone already')
    .option('-f, --follow', 'go on with what happens, until Ctrl-C')
    .option(
      '--type <type>',
      'only these, such as workspace.error or tool.bash (repeatable)',
      collect,
    )
    .option('-n, --limit <count>', 'how many of the past (at most 1000)', count, 50)
    .addHelpText(
      'after',
      `
With --json one document; with --json --follow one line of JSON for each event. When the connection breaks
or the server restarts, following goes on where it stopped, as soon as the server is back within a minute.

Examples:
  emergent events -f
  emergent events 1f0c -n 10
  emergent events --type workspace.error,workspace.destroyed
  emergent events -f -n 0 --json | jq -r .type`,
    )
    .action(async (id: string | undefined) => {
      await events(id, command.optsWithGlobals());
    });
}

async function events(text: string | undefined, options: EventsOptions): Promise<void> {
  const client = ApiClient.connect(options);
  const filter: EventFilter = {
    ...(text !== undefined && { workspace_id: await resolveIdInLog(client, text) }),
    ...(options.type && { type: options.type.join(',') }),
  };
  if (options.follow === true) {
    await follow(client, filter, options);
    return;
  }
  const past = options.limit === 0 ? [] : (await client.events.newest(filter, options.limit)).items;
  const items = past.toReversed();
  if (options.json === true) await printJson({ items });
  else if (items.length > 0) await printLine(items.map(eventLine).join('\n'));
}

async function follow(
  client: ApiClient,
  filter: EventFilter,
  { limit, json }: EventsOptions,
): Promise<void> {
  const stopped = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    stopped.abort();
  });
  const line = json === true ? (event: WorkspaceEvent) => JSON.stringify(event) : eventLine;
  try {
    const all = followEvents(client, filter, limit, {
      clock: systemClock,
      signal: stopped.signal,
      tell: (message) => {
        note(`emergent: ${message}`);
      },
    });
    for await (const event of all) await printLine(line(event));
  } catch (error) {
    // Ctrl-C is how following ends.
    if (!stopped.signal.aborted) throw error;
  }
}

function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

function count(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 1000) return value;
  throw new InvalidArgumentError('Write a number from 0 to 1000.');
}
