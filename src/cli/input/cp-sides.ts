import { basename, posix } from 'node:path';
import { UsageFailure } from '../failure.ts';

/** A file on this machine; "-" is standard input or output. */
export interface LocalSide {
  readonly kind: 'local';
  readonly path: string;
}

/** A file in a workspace; the id may be shortened. A path that is empty or ends with "/" names a directory. */
export interface RemoteSide {
  readonly kind: 'remote';
  readonly id: string;
  readonly path: string;
}

export type Transfer =
  | { readonly direction: 'in'; readonly from: LocalSide; readonly to: RemoteSide }
  | { readonly direction: 'out'; readonly from: RemoteSide; readonly to: LocalSide };

/** Which way a `cp` goes: exactly one side is in a workspace. */
export function parseTransfer(source: string, target: string): Transfer {
  const from = parseSide(source);
  const to = parseSide(target);
  if (from.kind === 'local' && to.kind === 'remote') return { direction: 'in', from, to };
  if (from.kind === 'remote' && to.kind === 'local') return { direction: 'out', from, to };
  throw new UsageFailure(
    from.kind === 'remote' ? 'both sides are in a workspace' : 'neither side is in a workspace',
    'Write one side as <id>:<path>, and a local file that looks like that as ./<path>.',
  );
}

function parseSide(text: string): LocalSide | RemoteSide {
  const match = /^([0-9a-f-]{4,36}):(.*)$/is.exec(text);
  if (!match) return { kind: 'local', path: text };
  return { kind: 'remote', id: match[1] ?? '', path: match[2] ?? '' };
}

/** Where the file goes in the workspace: into a directory under its own name, else exactly where told. */
export function remoteTarget(from: LocalSide, to: RemoteSide): string {
  if (to.path !== '' && !to.path.endsWith('/')) return to.path;
  if (from.path === '-') {
    throw new UsageFailure(
      'standard input has no name',
      'Write the target as <id>:<path of the file>.',
    );
  }
  return posix.join(to.path, basename(from.path));
}
