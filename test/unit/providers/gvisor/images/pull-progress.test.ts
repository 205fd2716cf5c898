import { expect, test } from 'vitest';
import { pullLines } from '../../../../../src/providers/gvisor/images/pull-lines.ts';
import { PullProgress } from '../../../../../src/providers/gvisor/images/pull-progress.ts';
import type { PullLine } from '../../../../../src/providers/gvisor/images/pull-progress.ts';

/** As an engine reports it, shortened. */
const report = `{"status":"Pulling from library/debian","id":"12"}
{"status":"Pulling fs layer","progressDetail":{},"id":"aaa"}
{"status":"Pulling fs layer","progressDetail":{},"id":"bbb"}
{"status":"Already exists","progressDetail":{},"id":"ccc"}
{"status":"Downloading","progressDetail":{"current":2000000,"total":20000000},"progress":"[=>  ]","id":"aaa"}
{"status":"Downloading","progressDetail":{"current":500000,"total":500000},"id":"bbb"}
{"status":"Retrying in 3 seconds","progressDetail":{},"id":"aaa"}
{"status":"Download complete","progressDetail":{},"id":"bbb"}
{"status":"Downloading","progressDetail":{"current":20000000,"total":20000000},"id":"aaa"}
{"status":"Extracting","progressDetail":{"current":32768,"total":20000000},"id":"aaa"}
{"status":"Pull complete","progressDetail":{},"id":"aaa"}
{"status":"Extracting","progressDetail":{"current":500000,"total":500000},"id":"bbb"}
{"status":"Pull complete","progressDetail":{},"id":"bbb"}
{"status":"Digest: sha256:0"}
{"status":"constructor","id":"ddd"}
`;

async function* pieces(size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(report.replaceAll('\n', '\r\n'));
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test('says how far a pull is, and whether that is further than before', async () => {
  const progress = new PullProgress('debian:12');
  expect(progress.now().message).toBe('pulling debian:12');
  const told: string[] = [];
  for await (const line of pullLines(pieces(1000))) {
    if (progress.add(line)) told.push(progress.now().message.slice('pulling debian:12, '.length));
  }
  expect(told).toEqual([
    '0 of 1 layer',
    '0 of 2 layers',
    '1 of 3 layers',
    '2.0 of 20 MB, 1 of 3 layers',
    '2.5 of 21 MB, 1 of 3 layers',
    '21 of 21 MB, 1 of 3 layers',
    '21 of 21 MB, 1 of 3 layers',
    '21 of 21 MB, 2 of 3 layers',
    '21 of 21 MB, 2 of 3 layers',
    '21 of 21 MB, 3 of 3 layers',
  ]);
  expect(progress.end()).toEqual({
    step: 'pulling_image',
    message: 'pulled debian:12, 21 MB in 3 layers',
    detail: {
      ...{ image: 'debian:12', layers: 3, layers_done: 3 },
      ...{ bytes: 20_500_000, bytes_total: 20_500_000 },
    },
  });
});

test.each([1, 7, 100_000])('reads the report in pieces of %i bytes', async (size) => {
  const lines = await Array.fromAsync<PullLine>(pullLines(pieces(size)));
  expect(lines).toHaveLength(15);
  expect(lines[4]).toMatchObject({ id: 'aaa', progressDetail: { current: 2_000_000 } });
});

test('refuses a report that is none', async () => {
  async function* nonsense(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('<html>'));
  }
  await expect(Array.fromAsync(pullLines(nonsense()))).rejects.toThrow('not JSON');
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await Promise.resolve(Buffer.alloc(100_000, 0x20));
  }
  await expect(Array.fromAsync(pullLines(endless()))).rejects.toThrow('too long');
});
