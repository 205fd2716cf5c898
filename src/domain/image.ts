import { EmergentError } from './errors.ts';

/** The images that set-up builds have this name, without a registry: no registry is ever asked for them. */
export const workspaceImageRepository = 'emergent-workspace';

/** `[host[:port]/]path[:tag][@digest]` */
export const imageReferencePattern =
  /^(?<repository>(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>[a-z0-9]+:[0-9a-f]{32,128}))?$/;

export interface ImageReference {
  /** With the registry's host, where one is named. */
  readonly repository: string;
  /** A tag, or a digest, which wins where both are given. */
  readonly version: string;
}

/** Throws `invalid_value`. */
export function parseImageReference(text: string): ImageReference {
  const { repository, tag, digest } = imageReferencePattern.exec(text)?.groups ?? {};
  if (repository === undefined) {
    throw new EmergentError('invalid_value', `image: "${text}" is not an image reference`);
  }
  return { repository, version: digest ?? tag ?? 'latest' };
}

export function isBuiltBySetUp({ repository }: ImageReference): boolean {
  return repository === workspaceImageRepository;
}
