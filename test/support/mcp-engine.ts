import { startPrivateEngine } from './engine.ts';
import type { PrivateEngine } from './engine.ts';
import { testHost } from './host.ts';
import { mcpImages } from './mcp-image.ts';

/**
 * An engine of a test's own with the rogue on it, which stands in for the workspace image too: nothing is started of
 * that, and it is a hundred times as large.
 */
export async function startMcpEngine(liveRestore = true): Promise<PrivateEngine> {
  const { rogue } = await mcpImages();
  const { image } = await testHost();
  const engine = await startPrivateEngine({ images: [rogue], liveRestore });
  const [repo = '', tag = ''] = image.split(':');
  await engine.docker.getImage(rogue).tag({ repo, tag });
  return engine;
}
