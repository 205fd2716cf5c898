import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { terminateGraceMs } from '../../src/domain/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { Conversation, TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';

/** What the memory provider promises beyond the conformance suite. */
describe('MemoryProvider', () => {
  let root: string;
  let provider: MemoryProvider;
  let sandbox: TestSandbox;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'emergent-memory-'));
    provider = new MemoryProvider({ root, graceMs: 500 });
    sandbox = new TestSandbox(provider, newSpec('none'));
    await provider.create(sandbox.spec, soon());
  });
  afterEach(async () => {
    await provider[Symbol.asyncDispose]();
    await rm(root, { recursive: true, force: true });
  });

  test('confines file names to /workspace', async () => {
    const refused = { code: 'permission_denied' };
    for (const path of ['/etc/passwd', '/workspace/../etc/passwd', '../x', '/', '/workspacex']) {
      await expect(sandbox.read(path)).rejects.toMatchObject(refused);
      await expect(sandbox.write(path, Buffer.from('x'))).rejects.toMatchObject(refused);
      await expect(sandbox.start(['true'], { workdir: path })).rejects.toMatchObject(refused);
    }
  });

  test('does not follow a link out of /workspace', async () => {
    const outside = await mkdtemp(join(root, 'outside-'));
    await sandbox.sh('ln -s "$1" away; ln -s "$1/file" file; touch "$1/file"', outside);
    const refused = { code: 'permission_denied' };
    await expect(sandbox.read('away/file')).rejects.toMatchObject(refused);
    await expect(sandbox.read('file')).rejects.toMatchObject(refused);
    for (const path of ['away/new', 'away/new/deep', 'file']) {
      await expect(sandbox.write(path, Buffer.from('x'))).rejects.toMatchObject(refused);
    }
    await expect(sandbox.start(['true'], { workdir: 'away' })).rejects.toMatchObject(refused);
    expect(await readdir(outside)).toEqual(['file']);
  });

  test('writes through a link that stays inside', async () => {
    await sandbox.sh('mkdir real && echo old > real/file && ln -s real/file link');
    await sandbox.write('link', Buffer.from('new'));
    expect((await sandbox.read('real/file')).toString()).toBe('new');
    expect((await sandbox.sh('readlink link')).stdout.toString()).toBe('real/file\n');
  });

  test('removes what a failed write had staged', async () => {
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('the source broke');
    };
    await expect(sandbox.write('file', failing())).rejects.toThrow('the source broke');
    expect(await readdir(join(root, sandbox.spec.sandboxName, 'staging'))).toEqual([]);
  });

  test('keeps the environment of the server from commands', async () => {
    vi.stubEnv('EMERGENT_ADMIN_TOKEN', 'emt_secret');
    const seen = await sandbox.run(['env']);
    vi.unstubAllEnvs();
    expect(seen.stdout.toString()).not.toContain('emt_secret');
    expect(seen.stdout.toString()).toMatch(/^PATH=/m);
  });

  test('refuses input to a command that has none or no longer reads', async () => {
    const silent = await sandbox.start(['sleep', '1000']);
    await expect(silent.writeStdin(Buffer.from('x'))).rejects.toMatchObject({
      code: 'wrong_state',
    });
    const deaf = await sandbox.start(['true'], { stdin: true });
    await new Conversation(deaf).end();
    await expect(deaf.writeStdin(Buffer.from('x'))).rejects.toMatchObject({ code: 'wrong_state' });
  });

  test('lets output be read once', async () => {
    const process = await sandbox.start(['echo', 'x']);
    await new Conversation(process).end();
    await expect(new Conversation(process).end()).rejects.toThrow('read before');
  });

  test('lets a command that was held back go on when its reader comes', async () => {
    const script = 'for i in $(seq 1 64); do head -c 65536 /dev/zero; echo > "step-$i"; done';
    const process = await sandbox.start(['sh', '-c', script]);
    // By then the queue holds more than it takes, and the rest waits in the pipe and in the command.
    await eventually(() => sandbox.read('step-17'));
    expect((await new Conversation(process).end()).stdout).toHaveLength(64 * 65536);
  });

  test('lets a command finish whose reader has left', async () => {
    const process = await sandbox.start(['sh', '-c', 'seq 1 1000000; echo > finished']);
    for await (const event of process.events) {
      if (event.type === 'stdout') break;
    }
    await eventually(() => sandbox.read('finished'));
  });

  test('takes only a name that is safe as a file name', async () => {
    for (const sandboxName of ['', '..', '../x', 'a/b', '.hidden', 'a b']) {
      const spec = { ...newSpec('none'), sandboxName };
      const refused = { code: 'invalid_value' };
      await expect(provider.create(spec, soon())).rejects.toMatchObject(refused);
      await expect(provider.destroy(spec, soon())).rejects.toMatchObject(refused);
      await expect(provider.resume(spec, spec, soon())).rejects.toMatchObject(refused);
    }
  });

  test('takes over the directory that a killed server left, and can destroy it', async () => {
    await sandbox.write('kept', Buffer.from('before'));
    const later = new MemoryProvider({ root });
    const adopted = new TestSandbox(later, sandbox.spec);
    await expect(adopted.read('kept')).rejects.toMatchObject({ code: 'sandbox_unreachable' });
    await later.resume(sandbox.spec, sandbox.spec, soon());
    expect((await adopted.read('kept')).toString()).toBe('before');
    await new MemoryProvider({ root }).destroy(sandbox.spec, soon());
    expect(await readdir(root)).toEqual([]);
  });

  test('gives the default grace to commands where none is set', async () => {
    const clock = new FakeClock();
    const patient = new MemoryProvider({ root, clock });
    const own = new TestSandbox(patient, newSpec('none'));
    await patient.create(own.spec, soon());
    const script = 'trap "" TERM; echo ready; exec sleep 1000';
    const talk = new Conversation(await own.start(['sh', '-c', script]));
    await talk.hear('ready');
    const destroying = own.destroy();
    for (let waited = 0; waited < terminateGraceMs; waited += 20) {
      await clock.whenSleeping();
      await clock.advance(20);
    }
    await destroying;
    expect(clock.sleeping).toBe(0);
    expect(await talk.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });

  test('leaves no process and no directory behind when it is disposed of', async () => {
    const running = new Conversation(await sandbox.start(['sh', '-c', 'echo ready; sleep 1000']));
    await running.hear('ready');
    await provider[Symbol.asyncDispose]();
    expect(await running.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
    expect(await readdir(root)).toEqual([]);
  });

  test('kills the background children of commands that have ended', async () => {
    const { stdout } = await sandbox.sh('sleep 1000 & echo $!');
    const status = join('/proc', stdout.toString().trim(), 'status');
    await access(status);
    await sandbox.destroy();
    const observer = new TestSandbox(provider, newSpec('none'));
    await provider.create(observer.spec, soon());
    await eventually(async () => {
      const alive = await observer.sh('grep -q "^State:[[:space:]]*[RSDTt]" "$1"', status);
      expect(alive.exitCode).not.toBe(0);
    });
  });

  test('is unhealthy, with a remedy, where it cannot keep files', async () => {
    await sandbox.write('plain', Buffer.from('x'));
    const inTheWay = join(root, sandbox.spec.sandboxName, 'workspace', 'plain');
    const broken = new MemoryProvider({ root: inTheWay });
    expect(await broken.health(soon())).toMatchObject({
      state: 'unhealthy',
      reason: expect.stringContaining(inTheWay) as unknown,
      remedy: expect.stringContaining(inTheWay) as unknown,
    });
    await expect(broken.create(newSpec('none'), soon())).rejects.toMatchObject({
      code: 'provider_failed',
    });
  });

  test('knows no start time before the first start', async () => {
    expect((await new MemoryProvider({ root }).capabilities()).startupMs).toBeNull();
    expect((await provider.capabilities()).startupMs).toBeGreaterThan(0);
  });
});
