// Hosted MCP servers: a tool call through the gateway, side by side with the same server spawned by the SDK on the
// host; many clients on one server; the way back after a crash, after the server of ours was killed and after the engine
// was restarted; and what is left when servers come and go.
// Run: npm run bench:mcp [-- latency | crowd | recovery | cycles [count]]...
import { crowd } from './mcp/crowd.ts';
import { cycles } from './mcp/cycles.ts';
import { latency } from './mcp/latency.ts';
import { recovery } from './mcp/recovery.ts';

const words = process.argv.slice(2);
const chosen = words.length > 0 ? words : ['latency', 'crowd', 'recovery'];
if (chosen.includes('latency')) await latency();
if (chosen.includes('crowd')) await crowd();
if (chosen.includes('recovery')) await recovery();
if (chosen.includes('cycles')) await cycles(Number(words[words.indexOf('cycles') + 1] ?? 200));
