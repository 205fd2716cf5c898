// Runs in another network namespace: hands connections to a unix socket on to a port there.
// Usage: relay.ts <socket> <port>; says so on standard output when it listens.
import { connect, createServer } from 'node:net';
import { join } from './join-streams.ts';

const [path = '', port = ''] = process.argv.slice(2);
createServer((incoming) => {
  join(incoming, connect(Number(port), '127.0.0.1'));
}).listen(path, () => {
  process.stdout.write('listening\n');
});
