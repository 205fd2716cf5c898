import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import type { Bench } from './provider.ts';
import { Conversation, type TestSandbox, bytesOf, soon } from './sandbox.ts';

/** Perl programs that do something with each connection $c; every Debian has a Perl. */
const behaviours = {
  /** Says what it hears, and what it has heard in all when there is no more. */
  echo: 'while ($n = sysread $c, $b, 65536) { $all += $n; print $c $b } print $c "of $all";',
  /** Says something, ends its side, and goes on listening. */
  'ends first': 'print $c "bye"; shutdown $c, 1; while (sysread $c, $b, 9) { print "heard $b\\n" }',
  /** Takes nothing. */
  deaf: 'sleep 1000;',
  /** Never stops talking. */
  flood: '$b = "x" x 65536; 1 while print $c $b;',
  /** Breaks the connection off at the first word. */
  rude: 'sysread $c, $b, 1; setsockopt $c, SOL_SOCKET, SO_LINGER, pack "ii", 1, 0; close $c;',
} as const;

/** Byte streams to ports in the sandbox. */
export function tunnelTests(bench: Bench): void {
  const test = (
    name: string,
    run: (sandbox: TestSandbox, context: TestContext) => Promise<void>,
  ): void => {
    bench.test(name, async (context) => {
      if (!bench.provider().dial) return context.skip('declares no tunnels');
      await run(bench.shared(), context);
    });
  };

  test('carries bytes both ways, and each end for itself', async (sandbox) => {
    await using server = await listening(sandbox, 'echo');
    const stream = await server.dial();
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * 7) % 251));
    const heard = bytesOf(stream);
    stream.end(sent);
    const expected = Buffer.concat([sent, Buffer.from('of 3000000')]);
    expect(expected.equals(await heard)).toBe(true);
    if (!stream.closed) await once(stream, 'close');
  });

  test('who listens on IPv6 only is found too', async (sandbox, context) => {
    const { stdout } = await sandbox.sh('cat /proc/net/if_inet6 2>/dev/null || true');
    if (!/^0{31}1 /m.test(stdout.toString())) return context.skip('has no IPv6');
    await using server = await listening(sandbox, 'echo', '::1');
    const stream = await server.dial();
    stream.end('hello ');
    expect(await text(stream)).toBe('hello of 6');
  });

  test('an answer comes at once, again and again on one connection', async (sandbox) => {
    await using server = await listening(sandbox, 'echo');
    const stream = await server.dial();
    for (const word of ['one', 'two', 'three']) {
      stream.write(word);
      const [heard] = (await once(stream, 'data')) as [Buffer];
      expect(heard.toString()).toBe(word);
    }
    stream.destroy();
  });

  test('a port that ends first still hears', async (sandbox) => {
    await using server = await listening(sandbox, 'ends first');
    const stream = await server.dial();
    expect(await text(stream)).toBe('bye');
    stream.end('and you');
    expect(await server.talk.line()).toBe('heard and you');
  });

  test('many at once do not mix', async (sandbox) => {
    await using server = await listening(sandbox, 'echo');
    const words = Array.from({ length: 50 }, (_, at) => `connection ${String(at)} `);
    const answers = words.map(async (word) => {
      const stream = await server.dial();
      stream.end(word);
      return text(stream);
    });
    const expected = words.map((word) => `${word}of ${String(word.length)}`);
    expect(await Promise.all(answers)).toEqual(expected);
  });

  test('those that are stuck, either way, hold up nobody else', async (sandbox) => {
    await using deaf = await listening(sandbox, 'deaf');
    await using flood = await listening(sandbox, 'flood');
    await using server = await listening(sandbox, 'echo');
    const stuck = await Promise.all([deaf, flood].flatMap((each) => dialTimes(20, each)));
    const much = Buffer.alloc(20_000_000);
    for (const stream of stuck) stream.write(much);
    const { stdout } = await sandbox.sh('head -c 3000000 /dev/zero | wc -c');
    expect(stdout.toString().trim()).toBe('3000000');
    const stream = await server.dial();
    stream.end('hello ');
    expect(await text(stream)).toBe('hello of 6');
    for (const each of stuck) each.destroy();
  });

  test('a connection that the port breaks off fails', async (sandbox) => {
    await using server = await listening(sandbox, 'rude');
    const stream = await server.dial();
    const read = text(stream);
    stream.write('hello');
    await expect(read).rejects.toThrow();
  });

  test('where nobody listens it is told so', async (sandbox) => {
    await using server = await bound(sandbox, 'print $port; sleep 1000');
    await expect(server.dial()).rejects.toMatchObject({ code: 'port_closed' });
    for (const port of [0, 65_536]) {
      const dial = bench.provider().dial?.(sandbox.spec, port, soon());
      await expect(dial).rejects.toMatchObject({ code: 'invalid_value' });
    }
  });

  test('the end of everything in the sandbox is the end of its tunnels', async (_, context) => {
    const { processes } = bench.provider();
    if (!processes) return context.skip('declares no processes');
    await using sandbox = await bench.create();
    await using server = await listening(sandbox, 'deaf');
    const stream = await server.dial();
    const over = text(stream).then(
      () => 'over',
      () => 'over',
    );
    await processes.endAll(sandbox.spec, 30_000, soon());
    expect(await over).toBe('over');
  });

  test('there is none to a sandbox that does not run', async () => {
    const sandbox = await bench.create();
    await sandbox.destroy();
    const dial = bench.provider().dial?.(sandbox.spec, 80, soon());
    await expect(dial).rejects.toMatchObject({ code: 'sandbox_unreachable' });
  });
}

function dialTimes(count: number, server: Server): Promise<Duplex>[] {
  return Array.from({ length: count }, () => server.dial());
}

interface Server extends AsyncDisposable {
  readonly talk: Conversation;
  dial(): Promise<Duplex>;
}

type Address = '127.0.0.1' | '::1';

/** A program in the sandbox that listens on a port of its choice. */
function listening(
  sandbox: TestSandbox,
  behaviour: keyof typeof behaviours,
  address?: Address,
): Promise<Server> {
  const each = `$c->autoflush(1); ${behaviours[behaviour]} exit`;
  const accepting = `while (accept $c, S) { unless (fork) { ${each} } close $c }`;
  return bound(sandbox, `listen S, 128; print $port; ${accepting}`, address);
}

/** A program that has a port of its choice, where nobody else can listen, and listens there only if it says so. */
async function bound(
  sandbox: TestSandbox,
  rest: string,
  address: Address = '127.0.0.1',
): Promise<Server> {
  const [family, at] =
    address === '::1'
      ? ['PF_INET6', 'sockaddr_in6(0, inet_pton(AF_INET6, "::1"))']
      : ['PF_INET', 'sockaddr_in(0, INADDR_LOOPBACK)'];
  const script = `
    use Socket qw(:all); use IO::Handle; $| = 1; $SIG{CHLD} = "IGNORE"; $SIG{PIPE} = "IGNORE";
    socket S, ${family}, SOCK_STREAM, 0 or die; bind S, ${at} or die "$!";
    $port = unpack("x2n", getsockname S) . "\\n"; ${rest}`;
  const talk = new Conversation(await sandbox.start(['perl', '-e', script]));
  const port = Number(await talk.line());
  return {
    talk,
    dial: async () => {
      const stream = await sandbox.provider.dial?.(sandbox.spec, port, soon());
      if (!stream) throw new Error('declares no tunnels');
      return stream;
    },
    async [Symbol.asyncDispose]() {
      await talk.process.end(10_000);
    },
  };
}
