import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { ProcessInfoSchema } from '../../../src/providers/guest/gen/process/process_pb.ts';
import type { ProcessInfo } from '../../../src/providers/guest/gen/process/process_pb.ts';
import { processList } from '../../../src/providers/guest/process-info.ts';

function reported(init: MessageInitShape<typeof ProcessInfoSchema>): ProcessInfo {
  return create(ProcessInfoSchema, init);
}

test('processes without a usable id are left out, and of one id the last counts', () => {
  const list = processList([
    reported({}),
    reported({ tag: '' }),
    reported({ tag: 'x'.repeat(129) }),
    reported({ tag: 'a', pid: 1 }),
    reported({ tag: 'a', pid: 2 }),
  ]);
  expect(list.map(({ id, pid }) => [id, pid])).toEqual([['a', 2]]);
});

test('however much a sandbox says, only so much is taken', () => {
  const many = Array.from({ length: 3000 }, (_, at) => reported({ tag: String(at) }));
  expect(processList(many)).toHaveLength(1024);
  const [long] = processList([
    reported({ tag: 'a', config: { cmd: 'sh', args: ['x'.repeat(10_000), 'never'] } }),
  ]);
  expect(long?.argv.map(({ length }) => length)).toEqual([2, 4093]);
});

test('numbers that cannot be are brought into bounds', () => {
  const huge = 2n ** 64n - 1n;
  const [info] = processList([
    reported({
      tag: 'a',
      startedAtMs: huge,
      endedAtMs: huge,
      end: { exitCode: 1, exited: false, status: 'signal: <script>' },
      outputBytes: 10n,
      droppedBytes: huge,
    }),
  ]);
  expect(info).toMatchObject({ outputBytes: 10, droppedBytes: 10, exit: { signal: 'unknown' } });
  expect(info?.startedAt.toISOString()).toBe('+275760-09-13T00:00:00.000Z');
  expect(info?.endedAt?.toISOString()).toBe('+275760-09-13T00:00:00.000Z');
});
