import { gitLimits } from '../../../domain/git.ts';
import type {
  GitChangedFile,
  GitFileStatus,
  GitHead,
  GitPushedRef,
  GitStatus,
} from '../../../domain/git.ts';
import { foundPath } from '../../../domain/search-tools.ts';

/**
 * Reads what git prints for programs. Names of files are bytes: the output is read as Latin-1, one character for
 * each byte, until a name is found. What does not have the expected form is passed over.
 */
function fields(output: Buffer): string[] {
  const all = output.toString('latin1').split('\0');
  // Behind the last NUL is nothing, or what was cut off.
  all.pop();
  return all;
}

const pathOf = (name: string) => foundPath(Buffer.from(name, 'latin1'));
const textOf = (name: string): string => Buffer.from(name, 'latin1').toString('utf8');

/** Of `git status --porcelain=v2 --branch -z`. */
export function parseStatus(output: Buffer, cut: boolean): GitStatus {
  const records = fields(output);
  const headers = new Map<string, string>();
  const files: GitFileStatus[] = [];
  for (let at = 0; at < records.length; at++) {
    const record = records[at] ?? '';
    const header = /^# (\S+) (.*)$/s.exec(record);
    if (header) headers.set(header[1] ?? '', header[2] ?? '');
    // A rename has a field more: where it came from.
    else if (record.startsWith('2 ')) files.push(...renamedFile(record, records[++at]));
    else files.push(...changedFile(record));
  }
  const [ahead, behind] = /^\+(\d+) -(\d+)$/.exec(headers.get('branch.ab') ?? '')?.slice(1) ?? [];
  const upstream = headers.get('branch.upstream');
  return {
    ...headOf(headers.get('branch.oid'), headers.get('branch.head')),
    upstream: upstream === undefined ? null : textOf(upstream),
    ahead: Number(ahead ?? 0),
    behind: Number(behind ?? 0),
    clean: files.length === 0,
    files: files.slice(0, gitLimits.files),
    truncated: cut || files.length > gitLimits.files,
  };
}

function headOf(oid: string | undefined, branch: string | undefined): GitHead {
  return {
    commit: oid === undefined || oid === '(initial)' ? null : oid,
    branch: branch === undefined || branch === '(detached)' ? null : textOf(branch),
  };
}

function changedFile(record: string): GitFileStatus[] {
  const untracked = /^\? (.+)$/s.exec(record)?.[1];
  if (untracked !== undefined) {
    return [{ ...pathOf(untracked), kind: 'untracked', index: '.', worktree: '?' }];
  }
  const match =
    /^(1) (.)(.)(?: \S+){6} (.+)$/s.exec(record) ?? /^(u) (.)(.)(?: \S+){8} (.+)$/s.exec(record);
  if (!match) return [];
  const [, type, index = '.', worktree = '.', name = ''] = match;
  return [{ ...pathOf(name), kind: type === 'u' ? 'unmerged' : 'changed', index, worktree }];
}

function renamedFile(record: string, from: string | undefined): GitFileStatus[] {
  const match = /^2 (.)(.)(?: \S+){7} (.+)$/s.exec(record);
  if (!match || from === undefined) return [];
  const [, index = '.', worktree = '.', name = ''] = match;
  return [{ ...pathOf(name), kind: 'renamed', index, worktree, from: pathOf(from).path }];
}

/** Of `--numstat -z`. */
export function parseNumstat(output: Buffer): GitChangedFile[] {
  const records = fields(output);
  const files: GitChangedFile[] = [];
  for (let at = 0; at < records.length; at++) {
    const match = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(records[at] ?? '');
    if (!match) continue;
    const [, added = '-', deleted = '-', name = ''] = match;
    const lines = { added: linesOf(added), deleted: linesOf(deleted) };
    if (name !== '') files.push({ ...pathOf(name), ...lines });
    else {
      // A rename: both names are fields of their own.
      const [from, to] = [records[++at], records[++at]];
      if (from !== undefined && to !== undefined) {
        files.push({ ...pathOf(to), ...lines, from: pathOf(from).path });
      }
    }
  }
  return files;
}

function linesOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}

/** Of `git rev-parse HEAD --abbrev-ref HEAD`. */
export function parseHead(output: Buffer): GitHead {
  const [commit = '', branch = ''] = output.toString('utf8').split('\n');
  return headOf(commit === '' ? undefined : commit, branch === 'HEAD' ? undefined : latin1(branch));
}

function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

const pushFlags: Readonly<Record<string, GitPushedRef['status']>> = {
  ' ': 'updated',
  '+': 'forced',
  '*': 'created',
  '-': 'deleted',
  '=': 'up_to_date',
  '!': 'rejected',
};

/** Of `git push --porcelain`. */
export function parsePush(output: Buffer): GitPushedRef[] {
  const refs: GitPushedRef[] = [];
  for (const line of output.toString('utf8').split('\n')) {
    const match = /^([ +*=!-])\t([^\t:]*):([^\t]*)\t(.*)$/.exec(line);
    const status = pushFlags[match?.[1] ?? ''];
    if (!match || !status) continue;
    refs.push({ status, from: match[2] ?? '', to: match[3] ?? '', summary: match[4] ?? '' });
  }
  return refs;
}
