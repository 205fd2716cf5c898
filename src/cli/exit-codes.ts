/** What `emergent` ends with; every other code is that of the command it ran in a workspace. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  timedOut: 124,
  /** Our own failure while running a command, so that it cannot be taken for the command's. */
  ownFailure: 125,
} as const;

const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 } as const;

/** As a shell reports a program that a signal ended. */
export function exitCodeOfSignal(signal: keyof typeof signalNumbers): number {
  return 128 + signalNumbers[signal];
}

export const exitCodeHelp = `
Exit codes:
  0      success
  1      failure; the reason is on standard error
  2      wrong usage
  124    the command in the workspace ran into its timeout
  125    exec, run, shell and attach: connection lost, or another failure of our own
  other  exec, run, shell and attach: the exit code of the command itself`;
