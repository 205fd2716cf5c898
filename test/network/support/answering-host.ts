/**
 * A machine that answers, run as a program in a network namespace. Once told to on standard input, it accepts TCP
 * on the ports given as arguments and says which of its addresses was reached; UDP is answered the same way.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createInterface } from 'node:readline';

process.stdout.write('up\n');
await once(createInterface({ input: process.stdin }), 'line');

const ports = process.argv.slice(2).map(Number);
await Promise.all(
  ports.flatMap((port) => [acceptTcp(port), ...ownAddresses().map(answerUdp(port))]),
);
process.stdout.write('ready\n');

async function acceptTcp(port: number): Promise<void> {
  const server = createServer((socket) => {
    const address = (socket.localAddress ?? '').replace('::ffff:', '');
    socket.on('error', () => undefined).end(`reached ${address}\n`);
  });
  server.listen({ port, host: '::' });
  await once(server, 'listening');
}

/** A socket for each address: the answer of one for all would come from another address. */
function answerUdp(port: number): (address: string) => Promise<void> {
  return async (address) => {
    const socket = createSocket('udp4');
    socket.on('message', (_message, { port: from, address: sender }) => {
      socket.send(`reached ${address}\n`, from, sender);
    });
    socket.bind({ port, address });
    await once(socket, 'listening');
  };
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((found) =>
    (found ?? []).filter(({ family }) => family === 'IPv4').map(({ address }) => address),
  );
}
