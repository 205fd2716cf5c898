import { reasonOf } from '../../base/reason.ts';
import { systemCode } from '../../base/system-code.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';

const meanings: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['file_not_found', 'does not exist'],
  ENOTDIR: ['file_not_found', 'leads through something that is not a directory'],
  EISDIR: ['is_directory', 'is a directory'],
  EACCES: ['permission_denied', 'is not accessible'],
  EPERM: ['permission_denied', 'is not accessible'],
  EROFS: ['permission_denied', 'is on a read-only filesystem'],
  ENAMETOOLONG: ['invalid_value', 'is too long for a path'],
  ELOOP: ['invalid_value', 'has too many symbolic links'],
  ENOSPC: ['disk_full', 'does not fit: the disk is full'],
  EDQUOT: ['disk_full', 'does not fit: the disk quota is used up'],
};

/** A failed file operation as the caller should see it. */
export function toFileError(error: unknown, path: string): Error {
  if (error instanceof EmergentError) return error;
  const meaning = meanings[systemCode(error)];
  if (!meaning) {
    return new EmergentError('provider_failed', `${path}: ${reasonOf(error)}`, { cause: error });
  }
  return new EmergentError(meaning[0], `${path} ${meaning[1]}`, { cause: error });
}
