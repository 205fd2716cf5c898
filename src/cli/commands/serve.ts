import { once } from 'node:events';
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { endProcessWithin } from '../../base/end-process.ts';
import { ConfigError, loadConfig, readConfiguration, settings } from '../../config.ts';
import type { Config, Configuration } from '../../config.ts';
import type { RunningServer } from '../../main.ts';
import { exitCodeOfSignal, exitCodes } from '../exit-codes.ts';
import { reasonOf } from '../../base/reason.ts';
import { Failure } from '../failure.ts';
import { defaultUrl } from '../http/settings.ts';
import { overriddenLines, Reload } from '../reload.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { OwnTerminal } from '../terminal/own-terminal.ts';
import { onSignals } from '../terminal/signals.ts';
import type { PassedOnSignal } from '../terminal/signals.ts';
import { StopRequests } from '../terminal/stop-requests.ts';
import { styled } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';

export function define(command: Command): void {
  command
    .description('Prepare this host, then serve the API until Ctrl-C.')
    .option('--json', 'print the address and the token as JSON')
    .addHelpText('after', serveHelp)
    .action(async () => {
      await serveUntilSignal(command.optsWithGlobals());
    });
}

const serveHelp = `
The log goes to standard error; on a terminal only warnings, unless EMERGENT_LOG_LEVEL says otherwise.

Settings, from the environment and from the configuration file:
${settingLines()}

The configuration file has one NAME=value in a line, # begins a comment, and a value in quotation marks may go on
over several lines. kill -HUP makes the server read it again: those marked * take effect at once, the others are named and
wait for a restart, and a file with anything wrong in it changes nothing. A size that was changed since with
\`emergent pool resize\` holds until the one in the configuration changes. When the terminal it was started at goes
away, the server closes.

WORKSPACE_WARM_POOLS is a JSON array; what an entry leaves out is as for a request that leaves it out:
  [{"name": "python", "size": 3, "image": "python:3.13", "cpu": 1, "memory": "2G", "disk": "5G",
    "network": "nat", "provider": "auto"}]

Examples:
  npm start
  EMERGENT_PORT=8080 EMERGENT_SKIP_SETUP=1 emergent serve
  EMERGENT_CONFIG=/etc/emergent.env emergent serve
  EMERGENT_DEMO=1 emergent serve`;

function settingLines(): string {
  const lines = tableLines(
    [
      { title: '', cell: (row) => `${row.name}${row.live === true ? ' *' : ''}` },
      { title: '', cell: (row) => `${row.what} (${row.default})` },
    ],
    settings,
  );
  return lines
    .slice(1)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** All is closed by then: nothing that is left is worth waiting for. */
const lingerMs = 2_000;
/** Terminals that are closed tell their programs first and go then. */
const goingMs = 1_000;

/**
 * The first signal stops what runs, set-up or server, in order; the second exits at once. SIGHUP does so only when
 * the terminal has gone: otherwise it asks a running server to read its configuration again.
 */
async function serveUntilSignal(options: { readonly json?: boolean }): Promise<void> {
  const stopped = new AbortController();
  const requests = new StopRequests(systemClock);
  const terminal = new OwnTerminal();
  const stop = (signal: PassedOnSignal): void => {
    const request = requests.receive();
    if (request === 'exit') process.exit(exitCodeOfSignal(signal));
    if (request === 'same') return;
    note(`${signal}: closing; once more to exit at once`);
    stopped.abort();
  };
  let reload: Reload | undefined;
  const hangUp = async (): Promise<void> => {
    if (terminal.startedAtOne && !terminal.isGone()) await systemClock.sleep(goingMs);
    if (terminal.isGone()) stop('SIGHUP');
    else if (reload) await reload.request();
    else note('SIGHUP: the server is not running yet, and will read its configuration then');
  };
  using _signals = onSignals((signal) => {
    if (signal === 'SIGHUP') void hangUp();
    else stop(signal);
  });
  await serveUntil(stopped.signal, options, (running) => {
    reload = running;
  });
  note('closed');
  endProcessWithin(lingerMs);
}

async function serveUntil(
  stopped: AbortSignal,
  options: { json?: boolean },
  onRunning: (reload: Reload) => void,
): Promise<void> {
  const configuration = await settingsAtStart();
  const { config } = configuration;
  for (const line of overriddenLines(configuration)) note(line);
  // Loaded only now: help needs none of it.
  const [{ hostFacts }, { serve }] = await Promise.all([
    import('../host-facts.ts'),
    import('../../main.ts'),
  ]);
  const host = await hostFacts(config, stopped).catch((error: unknown) => {
    if (!stopped.aborted) throw error;
  });
  if (!host) return;
  await using server = await serve(config, host).catch((error: unknown) => {
    throw cannotStart(error, config);
  });
  const apply = (changed: Config): Promise<void> => server.reload(changed);
  onRunning(new Reload(configuration, { read: readNow, apply, tell: note }));
  await (options.json === true ? printJson(described(server)) : greet(server, config));
  if (!stopped.aborted) await once(stopped, 'abort');
}

/** On a terminal a person reads: JSON lines about every request would bury what was printed for them. */
function readNow(): Promise<Configuration> {
  return readConfiguration(process.env, process.stderr.isTTY ? { EMERGENT_LOG_LEVEL: 'warn' } : {});
}

async function settingsAtStart(): Promise<Configuration> {
  try {
    return await readNow();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Failure('configuration', `wrong settings: ${error.problems.join('; ')}`, {
      hint: '`emergent serve --help` describes them.',
      exitCode: exitCodes.usage,
      cause: error,
    });
  }
}

function cannotStart(error: unknown, config: Config): Failure {
  const reason = reasonOf(error);
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return new Failure('not_started', `the server cannot start: ${reason}`, {
    hint: taken
      ? `Is it running already? Otherwise choose another port: EMERGENT_PORT=${String(config.port + 1)}`
      : '`emergent doctor` checks this host.',
    cause: error,
  });
}

function described({ url, adminToken, database }: RunningServer): object {
  return { url, admin_token: adminToken.value, database };
}

async function greet({ url, adminToken, database }: RunningServer, config: Config): Promise<void> {
  const strong = (text: string): string => styled('bold', text, process.stdout);
  const token = {
    generated: `${adminToken.value}  (new; kept in the data directory)`,
    file: `${adminToken.value}  (from the data directory)`,
    environment: 'from EMERGENT_ADMIN_TOKEN',
  }[adminToken.source];
  await printLine(
    [
      `Emergent Workspaces is ready.`,
      `  URL       ${strong(url)}`,
      `  Token     ${token}`,
      `  Database  ${database}`,
      `  Try       ${strong(`${clientSettings(url, config)}./emergent run -- uname -r`)}`,
      `Ctrl-C stops it.`,
    ].join('\n'),
  );
}

/** What the printed command needs to find this server, where the defaults do not lead to it. */
function clientSettings(url: string, config: Config): string {
  const defaults = loadConfig({});
  return [
    ...(url === defaultUrl ? [] : [`EMERGENT_URL=${url} `]),
    ...(config.adminToken === undefined ? [] : ['EMERGENT_TOKEN=$EMERGENT_ADMIN_TOKEN ']),
    ...(config.dataDir === defaults.dataDir || config.adminToken !== undefined
      ? []
      : [`EMERGENT_DATA_DIR=${config.dataDir} `]),
  ].join('');
}
