import { afterAll, beforeAll, describe, expect } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { SandboxIncident } from '../../../src/domain/provider.ts';
import type { DiskMode } from '../../../src/providers/gvisor/disk/disk-mode.ts';
import { watchEveryMs } from '../../../src/providers/gvisor/disk/disk-watch.ts';
import { openDisks } from '../../../src/providers/gvisor/disk/open-disks.ts';
import { TestSandbox, newSpec, soon } from '../../conformance/sandbox.ts';
import { FakeClock } from '../../support/clock.ts';
import { recordLog } from '../../support/log.ts';
import { verifies } from '../../support/verifies.ts';
import { Installation } from './support/installation.ts';

const mb = 2 ** 20;
const limit = 100 * mb;

/** A disk of its own holds its own structures too. */
const cases: readonly (readonly [DiskMode, number])[] = [
  ['monitor', 92 * mb],
  ['loop', 86 * mb],
];

/** Use of real sandboxes, measured by the watch at its own pace on a test's clock. */
describe.each(cases)('the watch of disks in mode %s', (diskMode, nearlyFull) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await Installation.make(systemClock, { diskMode });
  });
  afterAll(() => installation[Symbol.asyncDispose]());

  verifies(
    ['gvisor/disk-quota-via-docker-volume'],
    'tells once of a disk that is nearly full and once of a full one, until there is room again',
    async () => {
      const spec = newSpec(installation.options.image);
      const limits = { ...spec.limits, diskBytes: limit };
      await using sandbox = new TestSandbox(installation.provider, { ...spec, limits });
      const { metadata } = await installation.provider.create(sandbox.spec, soon());
      expect(metadata).toMatchObject({ disk_mode: diskMode });

      const clock = new FakeClock();
      const { log, entries } = recordLog();
      const told = new Told();
      await using _watching = openDisks({
        ...installation.options,
        docker: installation.docker,
        clock,
        log,
        onIncident: (incident) => {
          told.add(incident);
        },
      });
      // Twice: the first may be answered by a measuring that the engine has begun before for somebody else.
      const look = async (): Promise<void> => {
        for (let turn = 0; turn < 2; turn++) {
          await clock.whenSleepingFor(watchEveryMs);
          await clock.advance(watchEveryMs);
          await clock.whenSleepingFor(watchEveryMs);
        }
      };
      const fill = (size: number): Promise<unknown> =>
        sandbox.sh(`rm -f fill; head -c ${String(size)} /dev/zero > fill; sync`);

      await fill(50 * mb);
      await look();
      expect(told.take()).toEqual([]);

      await fill(nearlyFull);
      await look();
      const [nearly, ...more] = told.take();
      expect(more).toEqual([]);
      expect(nearly).toMatchObject({
        workspaceId: sandbox.spec.workspaceId,
        kind: 'disk_nearly_full',
        detail: { disk_mode: diskMode, enforced: diskMode === 'loop' ? 'yes' : 'no' },
      });
      expect(nearly?.detail['percent']).toBeGreaterThanOrEqual(90);
      expect(nearly?.detail['percent']).toBeLessThan(99);

      await fill(110 * mb);
      await look();
      expect(
        told
          .take()
          .map(({ detail }) => Number(detail['percent']) >= (diskMode === 'loop' ? 99 : 100)),
      ).toEqual([true]);
      const warned = entries().filter(({ msg }) => msg.includes('over its disk limit'));
      expect(warned).toHaveLength(diskMode === 'monitor' ? 1 : 0);

      await fill(mb);
      await look();
      expect(told.take()).toEqual([]);
      await fill(nearlyFull);
      await look();
      expect(told.take()).toHaveLength(1);
    },
    60_000,
  );
});

class Told {
  #incidents: SandboxIncident[] = [];

  add(incident: SandboxIncident): void {
    this.#incidents.push(incident);
  }

  take(): readonly SandboxIncident[] {
    const taken = this.#incidents;
    this.#incidents = [];
    return taken;
  }
}
