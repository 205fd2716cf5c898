const kiB = 1024;
const miB = 1024 * kiB;

/** What one program may cost us, whatever it does or does not do. */
export const bridgeBounds = {
  /** A message from the program. */
  incomingBytes: 10 * miB,
  /** A message to the program. */
  outgoingBytes: 4 * miB,
  /** Of a stray line, or of a message that is too long, what is kept. */
  strayBytes: 2 * kiB,
  /** Messages that wait to be written. */
  queuedBytes: 16 * miB,
  /** What is joined into one write. */
  batchBytes: 64 * kiB,
  writeTimeoutMs: 30_000,
  /** Calls that wait for their turn. */
  waitingCalls: 256,
  waitingBytes: 64 * miB,
  /** A call whose progress starts its timeout anew ends after so many of them. */
  timeoutsPerCall: 10,
  /** Questions of the program that are open at once. */
  openQuestions: 64,
  /** Resources that one client has subscribed to. */
  subscriptionsPerClient: 1_000,
  /** What we ask on our own account: levels, subscriptions. */
  ownCallTimeoutMs: 30_000,
  /** Of an introduction: who it is, what it can do, how it is used. Together they stay below 64 KiB. */
  serverInfoBytes: 12 * kiB,
  capabilitiesBytes: 16 * kiB,
  instructionsBytes: 32 * kiB,
} as const;
