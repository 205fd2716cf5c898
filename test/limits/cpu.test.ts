import { expect } from 'vitest';
import { ScenarioServer } from '../scenarios/support.ts';
import { verifies } from '../support/verifies.ts';

/** Two processes that are busy for two seconds; prints whether both came to their end. */
const busy = `
import os, time
begin = time.monotonic()
def spin():
    while time.monotonic() - begin < 2: pass
    os._exit(0)
for _ in range(2):
    if os.fork() == 0: spin()
print([os.wait()[1] for _ in range(2)] == [0, 0])`;

/** Of one core: less than what a busy host leaves for anybody, so that it is the limit that holds them back. */
const limit = 0.2;
/** The engine grants CPU time in portions of a tenth of a second. */
const portionSeconds = 0.1;

verifies(
  ['lifecycle/cpu-limit-enforcement', 'gvisor/cpu-limit-via-docker'],
  'who asks for more CPU than the limit is slowed down, not killed',
  async () => {
    await using server = await ScenarioServer.start();
    const create = (cpu: number) =>
      server.create({ resource_limits: { cpu }, network: 'isolated' });
    const [bounded, free] = await Promise.all([create(limit), create(2)]);
    const isDone = async (id: string): Promise<void> => {
      const { body } = await server.call('POST', `/${id}/bash`, {
        command: 'python3 -c "$PROGRAM"',
        env: { PROGRAM: busy },
      });
      expect(body).toMatchObject({ exit_code: 0, signal: null, stdout: 'True\n' });
    };
    // At the same time, so that both find the same host.
    const [slowed, unhindered] = await Promise.all(
      [bounded, free].map(async (id) => {
        const before = await use(server, id);
        await isDone(id);
        const after = await use(server, id);
        expect((await server.bash(id, 'echo alive')).body.stdout).toBe('alive\n');
        return between(before, after);
      }),
    );
    // However long it took and whoever else wanted the CPU: never more than the limit, up to a portion at each end.
    const granted = limit * ((slowed?.seconds ?? 0) + 2 * portionSeconds);
    expect(slowed?.cpuSeconds).toBeLessThanOrEqual(granted);
    expect(slowed?.cpuSeconds).toBeGreaterThan(0);
    // The engine held it back again and again.
    expect(slowed?.throttledShare).toBeGreaterThan(0.25);
    expect(rate(unhindered)).toBeGreaterThan(rate(slowed));
  },
  180_000,
);

interface Use {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly portions: number;
  readonly throttledPortions: number;
}

/** Of the whole sandbox so far, by the engine's count. */
async function use(server: ScenarioServer, id: string): Promise<Use> {
  const { read, cpu_stats: cpu } = await server.docker
    .getContainer(`emergent-${id}`)
    .stats({ stream: false, 'one-shot': true });
  return {
    seconds: Date.parse(read) / 1000,
    cpuSeconds: cpu.cpu_usage.total_usage / 1e9,
    portions: cpu.throttling_data.periods,
    throttledPortions: cpu.throttling_data.throttled_periods,
  };
}

function between(before: Use, after: Use) {
  const throttled = after.throttledPortions - before.throttledPortions;
  return {
    seconds: after.seconds - before.seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    throttledShare: throttled / (after.portions - before.portions),
  };
}

function rate(used: { readonly cpuSeconds: number; readonly seconds: number } | undefined): number {
  return (used?.cpuSeconds ?? 0) / (used?.seconds ?? 1);
}
