import type Docker from 'dockerode';

/** How a container stands. */
export interface ContainerState {
  /** Also when it is paused: its processes are there. */
  readonly running: boolean;
  readonly paused: boolean;
  /** How it ended, in words; undefined while it runs. */
  readonly end: string | undefined;
}

type EngineState = Docker.ContainerInspectInfo['State'];

const keptErrorCharacters = 300;

export function containerState(state: EngineState): ContainerState {
  const running = state.Running || state.Paused || state.Restarting;
  return { running, paused: state.Paused, end: running ? undefined : endOf(state) };
}

function endOf(state: EngineState): string {
  if (state.Status === 'created') {
    return state.Error === '' ? 'was never started' : `could not be started: ${errorOf(state)}`;
  }
  const code = `exited with code ${String(state.ExitCode)}`;
  const memory = state.OOMKilled ? ', out of memory,' : '';
  const error = state.Error === '' ? '' : ` (${errorOf(state)})`;
  return `${code}${memory} at ${timeOf(state.FinishedAt)}${error}`;
}

function errorOf({ Error: error }: EngineState): string {
  return error.slice(0, keptErrorCharacters);
}

/** The engine gives nanoseconds; people do not need them. */
function timeOf(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}
