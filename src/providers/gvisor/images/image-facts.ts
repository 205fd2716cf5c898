import type Docker from 'dockerode';
import { EmergentError } from '../../../domain/errors.ts';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { ImageProgram } from '../../../domain/provider.ts';

/** What a container made from an image depends on. */
export interface ImageFacts {
  /** Of its content: a name that is given to another image has another. */
  readonly id: string;
  /** Who commands run as, in the image's words: "", "user", "1000:1000". */
  readonly user: string;
  /** Its environment says where the home is, so it is not the user's. */
  readonly setsHome: boolean;
  readonly program: ImageProgram;
}

/** The engine leaves out what an image does not say. */
type Inspected = Pick<Docker.ImageInspectInfo, 'Id' | 'Os' | 'Architecture'> & {
  readonly Config?: {
    readonly User?: string;
    readonly Env?: readonly string[] | null;
    readonly Entrypoint?: string | readonly string[] | null | undefined;
    readonly Cmd?: readonly string[] | null;
    readonly WorkingDir?: string;
  } | null;
};

export function imageFacts({ Id: id, Config }: Inspected): ImageFacts {
  return {
    id,
    user: Config?.User ?? '',
    setsHome: (Config?.Env ?? []).some((entry) => entry.startsWith('HOME=')),
    program: {
      entrypoint: [Config?.Entrypoint ?? []].flat(),
      command: Config?.Cmd ?? [],
      workdir: nonEmpty(Config?.WorkingDir),
    },
  };
}

function nonEmpty(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** As images name the architectures that the engine knows by the names of its kernel. */
const architectureNames: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** Throws `image_unsuitable`. An image that does not say what it is for is taken at its word. */
export function requireSuitable(
  image: string,
  { Os: os, Architecture: architecture }: Inspected,
  engineArchitecture: string,
): void {
  const wanted = architectureNames[engineArchitecture] ?? engineArchitecture;
  if ((os === '' || os === 'linux') && (architecture === '' || architecture === wanted)) return;
  throw unsuitable(image, `is for ${os}/${architecture}, and the engine runs linux/${wanted}`);
}

const imageFailures: readonly ErrorCode[] = [
  ...(['image_not_found', 'image_access_denied', 'image_unsuitable'] as const),
  'registry_unavailable',
];

/** The image is to blame, not the engine. */
export function isImageFailure(error: unknown): boolean {
  return error instanceof EmergentError && imageFailures.includes(error.code);
}

export function unsuitable(image: string, why: string, cause?: unknown): EmergentError {
  return new EmergentError('image_unsuitable', `the image "${image}" ${why}`, {
    ...(cause !== undefined && { cause }),
  });
}
