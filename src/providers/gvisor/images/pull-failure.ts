import { DeadlineError } from '../../../base/deadline.ts';
import { reasonOf } from '../../../base/reason.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { ErrorCode } from '../../../domain/errors.ts';

interface Meaning {
  readonly code: ErrorCode;
  readonly text: RegExp;
  readonly says: string;
}

/**
 * What the engine means. Its status tells apart neither a missing image from a refused one nor a registry that is
 * away from a fault of its own, and behind the first line of its report there is no status at all: only its words
 * say. The first that fits holds: what a registry refuses may also be missing.
 */
const meanings: readonly Meaning[] = [
  {
    code: 'image_unsuitable',
    text: /no matching manifest for|does not match the specified platform|cannot be used on this platform/i,
    says: "has no variant for the engine's platform",
  },
  {
    code: 'image_access_denied',
    text: /access (to the resource is )?denied|unauthorized|authentication required|no basic auth credentials|forbidden|\bdenied\b/i,
    says: 'cannot be pulled: the registry denies access, or has no such repository',
  },
  {
    code: 'image_not_found',
    text: /manifest unknown|not found|name unknown|repository does not exist|no such image/i,
    says: 'is neither on the Docker engine nor in the registry',
  },
  {
    code: 'invalid_value',
    text: /invalid reference format|invalid tag|repository name must be/i,
    says: 'is not an image reference',
  },
  {
    code: 'disk_full',
    text: /no space left on device|disk quota exceeded/i,
    says: "does not fit on the engine's disk",
  },
  {
    code: 'registry_unavailable',
    text: /dial tcp|no such host|connection re(fused|set)|i\/o timeout|timeout exceeded|TLS|certificate|\bEOF\b|unexpected status|received unexpected HTTP|server error|toomanyrequests|too many requests|deadline exceeded|request canceled|broken pipe|network is unreachable|no route to host/i,
    says: 'cannot be pulled: the registry cannot be reached',
  },
];

const roomHint =
  "Free some space in the engine's data directory: `docker system df` shows what uses it.";

/** The client wraps what the engine says in "(HTTP code 404) unexpected - …". */
function engineWords(error: unknown): string {
  const words = reasonOf(error instanceof EmergentError ? (error.cause ?? error) : error);
  return words.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}

/** A pull's failure in our words; what the engine said is in the message. */
export function pullFailure(image: string, error: unknown): EmergentError {
  if (error instanceof DeadlineError) {
    return new EmergentError('registry_unavailable', error.message, { cause: error });
  }
  // The connection to the engine itself failed; that has its own words.
  if (error instanceof EmergentError && error.code === 'provider_unavailable') return error;
  const said = engineWords(error);
  const meaning = meanings.find(({ text }) => text.test(said));
  const { code, says } = meaning ?? { code: 'provider_failed', says: 'cannot be pulled' };
  return new EmergentError(code, `the image "${image}" ${says}: ${said}`, {
    cause: error,
    ...(code === 'disk_full' && { hint: roomHint }),
  });
}
