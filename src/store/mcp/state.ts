import type { McpExit, McpIntroduction, McpRun, McpState } from '../../domain/mcp.ts';
import type { Row } from '../database.ts';
import {
  encodeTime,
  integer,
  isoTime,
  object,
  objectOrNull,
  strings,
  text,
  textOrNull,
  unexpected,
} from '../row.ts';

/** The column `state`. */
export function mcpStateFrom(row: Row): McpState {
  const state = object(row, 'state');
  return {
    restarts: integer(state, 'restarts'),
    crashes: strings(state, 'crashes').map((at) => isoTime({ at }, 'at')),
    backOffs: integer(state, 'back_offs'),
    lastExit: exitFrom(objectOrNull(state, 'last_exit')),
    run: runFrom(objectOrNull(state, 'run')),
  };
}

function exitFrom(exit: Row | null): McpExit | null {
  return (
    exit && {
      exitCode: integer(exit, 'exit_code'),
      signal: textOrNull(exit, 'signal'),
      at: isoTime(exit, 'at'),
    }
  );
}

function runFrom(run: Row | null): McpRun | null {
  return (
    run && {
      processId: text(run, 'process_id'),
      introduction: introductionFrom(objectOrNull(run, 'introduction')),
      startedAt: isoTime(run, 'started_at'),
    }
  );
}

function introductionFrom(introduction: Row | null): McpIntroduction | null {
  return (
    introduction && {
      protocolVersion: text(introduction, 'protocol_version'),
      serverInfo: serverInfoFrom(introduction),
      capabilities: object(introduction, 'capabilities'),
      instructions: textOrNull(introduction, 'instructions'),
    }
  );
}

function serverInfoFrom(introduction: Row): McpIntroduction['serverInfo'] {
  const info = object(introduction, 'server_info');
  const { name, version } = info;
  if (typeof name !== 'string' || typeof version !== 'string') {
    throw unexpected('server_info', info);
  }
  return { ...info, name, version };
}

export function encodeMcpState({ restarts, crashes, backOffs, lastExit, run }: McpState): string {
  const state = {
    restarts,
    crashes: crashes.map((at) => encodeTime(at)),
    back_offs: backOffs,
    last_exit: lastExit && {
      exit_code: lastExit.exitCode,
      signal: lastExit.signal,
      at: encodeTime(lastExit.at),
    },
    run: run && {
      process_id: run.processId,
      introduction: run.introduction && introductionObject(run.introduction),
      started_at: encodeTime(run.startedAt),
    },
  };
  return storable(JSON.stringify(state));
}

function introductionObject(introduction: McpIntroduction): Readonly<Record<string, unknown>> {
  return {
    protocol_version: introduction.protocolVersion,
    server_info: introduction.serverInfo,
    capabilities: introduction.capabilities,
    instructions: introduction.instructions,
  };
}

/**
 * What a program says of itself, its keys included, may hold what the database cannot: a NUL, or half a surrogate pair.
 * In JSON text both are always escapes, and a whole pair never is.
 */
function storable(json: string): string {
  return json.replace(/\\(?:(u0000|ud[89a-f][0-9a-f]{2})|.)/g, (escape, refused?: string) =>
    refused === undefined ? escape : '\ufffd',
  );
}
