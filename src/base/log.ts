import pino from 'pino';
import { redact } from './redact.ts';

/** Structured log: a message for the reader, fields for the machine. Fields named like secrets are redacted. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Log;
}

/** `err` is written with its stack and causes. */
export type LogFields = Record<string, unknown> & { err?: unknown };

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogOptions {
  level: LogLevel;
  /** Where lines go: a stream with `write`. Standard error unless told. */
  sink?: { write(line: string): unknown };
}

export function createLog(options: LogOptions): Log {
  const sink = options.sink ?? process.stderr;
  return wrap(
    pino(
      {
        level: options.level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: {
          level: (label) => ({ level: label }),
          log: (fields) => redact(fields) as Record<string, unknown>,
        },
        serializers: { err: pino.stdSerializers.errWithCause },
      },
      { write: (line: string) => void sink.write(line) },
    ),
  );
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (message, fields) => {
      logger.debug(fields ?? {}, message);
    },
    info: (message, fields) => {
      logger.info(fields ?? {}, message);
    },
    warn: (message, fields) => {
      logger.warn(fields ?? {}, message);
    },
    error: (message, fields) => {
      logger.error(fields ?? {}, message);
    },
    child: (fields) => wrap(logger.child(redact(fields) as LogFields)),
  };
}
