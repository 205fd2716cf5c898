// From nothing to a workspace and to the end of its first command, through the HTTP API: from a warm pool, cold, and
// many at once; side by side with the bare calls of the same engine that make a volume and a container with the same
// runtime, limits and network, start it and run a command.
// Run: npm run bench:create [-- cold-rounds [warm-rounds [bursts]]]
import { burst } from './create/burst.ts';
import { coldCreate } from './create/cold.ts';
import { pooledServer } from './create/pooled-server.ts';
import { warmCreate } from './create/warm.ts';

const [coldRounds = 15, warmRounds = 105, bursts = 5] = process.argv.slice(2).map(Number);
const poolSize = 10;

for (const disk of ['monitor', 'loop'] as const) await coldCreate(disk, coldRounds);
await using server = await pooledServer(poolSize);
await warmCreate(server, poolSize, warmRounds);
await burst(server, poolSize, bursts);
