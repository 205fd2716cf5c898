import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { recordLog } from '../support/log.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';

const program = fileURLToPath(new URL('fixtures/hold-store.ts', import.meta.url));

type Line = Readonly<Record<string, unknown>>;

/** Another process on the same directory; see fixtures/hold-store.ts. */
class Holder {
  readonly lines: Line[] = [];
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #reader: Interface;
  readonly #ended: Promise<unknown>;

  constructor(dataDir: string, firstStart: 'endless' | 'usual') {
    this.#child = spawn(process.execPath, [program, dataDir, firstStart], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#reader = createInterface({ input: this.#child.stdout });
    this.#reader.on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    this.#ended = Promise.all([once(this.#child, 'exit'), once(this.#reader, 'close')]);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Line number `index`, from 0; undefined when the process ended without it. */
  async line(index: number): Promise<Line | undefined> {
    const aborter = new AbortController();
    const ended = this.#ended.then(() => {
      aborter.abort();
    });
    while (this.lines.length <= index && !aborter.signal.aborted) {
      await Promise.race([once(this.#reader, 'line'), ended]);
    }
    return this.lines[index];
  }

  /** Resolves when it is gone and all it said has been read. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

// Every opener is a process of its own: seconds of processor time.
describe('PGlite directory', { timeout: 180_000 }, () => {
  const log = recordLog().log;
  let dataDir = '';
  const holders: Holder[] = [];
  const hold = (firstStart: 'endless' | 'usual' = 'usual'): Holder => {
    const holder = new Holder(dataDir, firstStart);
    holders.push(holder);
    return holder;
  };
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'emergent-lock-'));
    await prepareDataDir(dataDir);
  });
  afterEach(async () => {
    await Promise.all(holders.splice(0).map((holder) => holder.kill()));
    await rm(dataDir, { recursive: true, force: true });
  });

  test('a second opener is refused, told who holds it and what to do', async () => {
    const holder = hold();
    expect(await holder.line(0)).toEqual({ opened: holder.pid });
    await expect(openStore({ dataDir, log })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `process ${String(holder.pid)} is using the database in ${dataDir}`,
      hint: expect.stringMatching(/Stop that process.*EMERGENT_DATA_DIR.*DATABASE_URL/) as unknown,
      details: { directory: dataDir, pid: holder.pid },
    });
  });

  test('a second opener in the same process is refused, and the first goes on', async () => {
    await using store = await openStore({ dataDir, log });
    await expect(openStore({ dataDir, log })).rejects.toMatchObject({
      message: `process ${String(process.pid)} is using the database in ${dataDir}`,
    });
    expect(await store.workspaces.countByProvider()).toEqual(new Map());
    expect(await hold().line(0)).toMatchObject({ code: 'store_unavailable' });
  });

  test('a killed holder leaves the lock free and every acknowledged row in place', async () => {
    const holder = hold();
    await holder.line(50);
    await holder.kill();
    const acknowledged = holder.lines.flatMap(({ inserted }) => (inserted ? [inserted] : []));
    expect(acknowledged.length).toBeGreaterThanOrEqual(50);

    await using store = await openStore({ dataDir, log });
    const { items } = await store.workspaces.list({ limit: 100_000 });
    const kept = new Set<unknown>(items.map(({ id }) => id));
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    // The one insert that may have been under way.
    expect(kept.size - acknowledged.length).toBeLessThanOrEqual(1);
  });

  test('of several openers at once one gets it; the others name it', async () => {
    const openers = [hold(), hold(), hold(), hold()];
    const first = await Promise.all(openers.map((opener) => opener.line(0)));
    const winners = first.filter((line) => line?.['opened'] !== undefined);
    expect(winners).toHaveLength(1);
    const winner = winners[0]?.['opened'];
    for (const line of first.filter((each) => each !== winners[0])) {
      expect(line).toMatchObject({ code: 'store_unavailable', details: { pid: winner } });
    }
  });

  test('a leftover that names a live process does not hold the lock', async () => {
    const holder = hold();
    await holder.line(0);
    await holder.kill();
    // The same as a reused process id: the file names a process that lives but holds nothing.
    await writeFile(join(dataDir, 'pglite.holder'), JSON.stringify({ pid: 1, host: 'x' }));
    await using store = await openStore({ dataDir, log });
    expect(await store.describe()).toContain('PGlite');
  });

  test('a kill during the first start leaves nothing that the next start stumbles over', async () => {
    await rm(join(dataDir, 'pglite'), { recursive: true });
    const holder = hold('endless');
    const started = join(dataDir, 'pglite.unfinished', 'PG_VERSION');
    await vi.waitFor(
      () => {
        expect(existsSync(started)).toBe(true);
      },
      { timeout: 120_000, interval: 5 },
    );
    await holder.kill();
    expect(existsSync(join(dataDir, 'pglite'))).toBe(false);
    await using store = await openStore({ dataDir, log });
    expect(await store.workspaces.countByProvider()).toEqual(new Map());
    expect(existsSync(join(dataDir, 'pglite.unfinished'))).toBe(false);
  });
});
