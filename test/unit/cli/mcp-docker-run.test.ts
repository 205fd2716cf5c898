import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mapDockerRun } from '../../../src/cli/input/mcp-docker-run.ts';

const variables = { TOKEN: 'secret', EMPTY: '' };
const map = (line: string) => mapDockerRun(line.split(' '), variables);

describe('what docker run says', () => {
  test.for<[string, object]>([
    ['mcp/time', { image: 'mcp/time', network: 'nat' }],
    ['-i --rm mcp/time', { image: 'mcp/time', network: 'nat' }],
    ['-i --rm --init --pull=always --name x mcp/time', { image: 'mcp/time', network: 'nat' }],
    ['-i img stdio --read-only', { image: 'img', args: ['stdio', '--read-only'], network: 'nat' }],
    ['-i -e TOKEN img', { image: 'img', env: { TOKEN: 'secret' }, network: 'nat' }],
    ['-ieTOKEN img', { image: 'img', env: { TOKEN: 'secret' }, network: 'nat' }],
    ['-e A=b=c --env=D=e img', { image: 'img', env: { A: 'b=c', D: 'e' }, network: 'nat' }],
    ['-e EMPTY img', { image: 'img', env: { EMPTY: '' }, network: 'nat' }],
    ['-v data:/data img', { image: 'img', volumes: ['/data'], network: 'nat' }],
    [
      '-v data:/data:rw -v /cache img',
      { image: 'img', volumes: ['/data', '/cache'], network: 'nat' },
    ],
    [
      '--mount type=volume,src=data,dst=/data img',
      { image: 'img', volumes: ['/data'], network: 'nat' },
    ],
    ['--network none img', { image: 'img', network: 'isolated' }],
    ['--net=bridge img', { image: 'img', network: 'nat' }],
    [
      '--entrypoint node -w /app img x.js',
      { image: 'img', command: 'node', args: ['x.js'], workdir: '/app', network: 'nat' },
    ],
    [
      '-m 512m --cpus=1.5 img',
      { image: 'img', resource_limits: { cpu: '1.5', memory: '512m' }, network: 'nat' },
    ],
    ['--restart unless-stopped img', { image: 'img', restart_policy: 'always', network: 'nat' }],
    ['--restart=on-failure:5 img', { image: 'img', restart_policy: 'on-failure', network: 'nat' }],
    ['--restart no img', { image: 'img', restart_policy: 'never', network: 'nat' }],
    ['-i -- img arg', { image: 'img', args: ['arg'], network: 'nat' }],
  ])('%s', ([line, server]) => {
    expect(map(line)).toEqual({ server, notes: [] });
  });

  test.for<[string, RegExp]>([
    ['-it img', /^--tty is left out: messages go over a pipe$/],
    ['-p 3000:3000 img', /^--publish is left out: no port is published/],
    ['--read-only img', /^--read-only is left out$/],
  ])('%s is understood, and what is left out is said', ([line, note]) => {
    const { server, notes } = map(line);
    expect(server.image).toBe('img');
    expect(notes).toEqual([expect.stringMatching(note)]);
  });

  test.for<[string, RegExp]>([
    ['-i --rm', /names no image/],
    ['-e', /--env of docker run lacks its value/],
    ['-e MISSING img', /^MISSING is not set here: export it/],
    ['-v /home/me:/data img', /\/home\/me:\/data mounts a folder of the host/],
    ['-v ./data:/data img', /mounts a folder of the host/],
    ['-v C:\\data:/data img', /mounts a folder of the host/],
    ['--mount type=bind,src=/a,dst=/b img', /mounts a folder of the host/],
    ['--network host img', /--network host: a sandbox is on no network but its own/],
    ['--privileged img', /--privileged of docker run has no counterpart: the sandbox gives no/],
    ['-u 1000 img', /--user .*runs as the user of its image/],
    ['-d img', /--detach .*in the background/],
    ['--frobnicate x img', /--frobnicate of docker run has no counterpart: it is not known here/],
    ['-Z img', /-Z of docker run is not understood/],
  ])('%s is refused with the reason', ([line, reason]) => {
    expect(() => map(line)).toThrow(reason);
  });

  test('--env holds against --env-file, wherever it stands', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'emergent-env-'));
    const file = join(directory, 'env');
    await writeFile(file, '# secrets\nA=file\nB="quoted"\n');
    const env = { A: 'said', B: 'quoted' };
    expect(map(`-e A=said --env-file ${file} img`).server.env).toEqual(env);
    expect(map(`--env-file ${file} -e A=said img`).server.env).toEqual(env);
    expect(() => map(`--env-file ${file}.missing img`)).toThrow(/cannot be read \(ENOENT\)/);
    await rm(directory, { recursive: true });
  });
});
