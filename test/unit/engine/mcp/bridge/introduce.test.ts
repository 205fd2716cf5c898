import { describe, expect, it } from 'vitest';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { legacyRevisions, metaKeys } from '../../../../../src/engine/mcp/bridge/envelope.ts';
import { Pipe, settled } from './support/pipe.ts';

const never = new AbortController().signal;
const good = {
  protocolVersion: '2025-06-18',
  serverInfo: { name: 'n', version: '1', title: 'N' },
  capabilities: { tools: { listChanged: true } },
  instructions: 'Use it well.',
};

function newPipe(): Pipe {
  return new Pipe({ introduction: null });
}

async function introduced(result: unknown): Promise<Pipe> {
  const pipe = newPipe();
  const introducing = pipe.bridge.introduce(1_000, never);
  await settled();
  pipe.answer(pipe.last('initialize').id, result);
  await introducing;
  return pipe;
}

describe('introduction', () => {
  it('asks once, says that it was heard, and keeps the answer', async () => {
    const pipe = await introduced(good);
    expect(pipe.bridge.introduction).toEqual(good);
    expect(pipe.methods()).toEqual(['initialize', 'notifications/initialized']);
    expect(pipe.last('initialize').params).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: {
        sampling: { tools: {}, context: {} },
        elicitation: { form: {}, url: {} },
        roots: { listChanged: true },
      },
      clientInfo: { name: 'emergent' },
    });
    expect(pipe.clock.sleeping).toBe(0);
  });

  it.each(legacyRevisions)('takes revision %s', async (protocolVersion) => {
    const pipe = await introduced({ ...good, protocolVersion });
    expect(pipe.bridge.introduction.protocolVersion).toBe(protocolVersion);
  });

  it('knows the same words as the SDK', () => {
    expect(legacyRevisions).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
    expect(metaKeys).toEqual({
      protocolVersion: PROTOCOL_VERSION_META_KEY,
      clientInfo: CLIENT_INFO_META_KEY,
      clientCapabilities: CLIENT_CAPABILITIES_META_KEY,
      logLevel: 'io.modelcontextprotocol/logLevel',
      serverInfo: SERVER_INFO_META_KEY,
      subscriptionId: SUBSCRIPTION_ID_META_KEY,
    });
  });

  it('counts the first of two answers', async () => {
    const pipe = await introduced(good);
    const { id } = pipe.last('initialize');
    pipe.answer(id, { ...good, serverInfo: { name: 'other', version: '2' } });
    expect(pipe.bridge.introduction.serverInfo.name).toBe('n');
    expect(pipe.bridge.lateAnswers).toBe(1);
  });

  it('has a deadline, and then takes nothing back that cannot be', async () => {
    const pipe = newPipe();
    const introducing = pipe.bridge.introduce(5_000, never);
    const failed = expect(introducing).rejects.toMatchObject({
      code: 'deadline_exceeded',
      message: 'the MCP server did not answer initialize within 5000 ms',
    });
    await pipe.clock.advance(5_000);
    await failed;
    expect(pipe.methods()).toEqual(['initialize']);
  });

  it.each([
    [{}, 'revision "null"'],
    [{ ...good, protocolVersion: '1999-01-01' }, 'revision "1999-01-01"'],
    [{ ...good, serverInfo: undefined }, 'serverInfo is missing'],
    [{ ...good, serverInfo: { name: 'n' } }, 'serverInfo.version'],
    [{ ...good, serverInfo: { name: {}, version: '1' } }, 'serverInfo.name'],
    [{ ...good, capabilities: [] }, 'capabilities is missing'],
    [{ ...good, capabilities: { x: 'x'.repeat(20_000) } }, 'capabilities is too large'],
    [{ ...good, instructions: 5 }, 'instructions is no text'],
  ])('says what is wrong with an answer: %#', async (result, what) => {
    await expect(introduced(result)).rejects.toMatchObject({
      code: 'mcp_failed',
      message: expect.stringContaining(what) as string,
    });
  });

  it('is bounded, and fit for a database', async () => {
    const icons = [{ src: `data:image/png;base64,${'x'.repeat(100_000)}` }];
    const pipe = await introduced({
      ...good,
      serverInfo: { name: `a\u0000b${'n'.repeat(500)}`, version: '1', icons },
      capabilities: { experimental: { 'a\u0000': { text: '\ud800' } } },
      instructions: 'é'.repeat(100_000),
    });
    const { introduction } = pipe.bridge;
    expect(Buffer.byteLength(JSON.stringify(introduction))).toBeLessThan(65_536);
    expect(introduction.serverInfo).toEqual({ name: `ab${'n'.repeat(197)}`, version: '1' });
    expect(introduction.capabilities).toEqual({ experimental: { a: { text: '\ufffd' } } });
    expect(introduction.instructions).toBe('é'.repeat(16_384));
  });

  it('refuses capabilities that are nested without end', async () => {
    let capabilities: object = {};
    for (let depth = 0; depth < 50; depth++) capabilities = { capabilities };
    await expect(introduced({ ...good, capabilities })).rejects.toThrow('too large');
  });

  it('tries the newer revision where the older is refused', async () => {
    const pipe = newPipe();
    const introducing = pipe.bridge.introduce(1_000, never);
    await settled();
    const error = { code: -32_022, message: 'unsupported protocol version' };
    pipe.say({ jsonrpc: '2.0', id: pipe.last('initialize').id, error });
    await settled();
    const { id, params } = pipe.last('server/discover');
    expect(params).toMatchObject({
      _meta: { [PROTOCOL_VERSION_META_KEY]: '2026-07-28', [CLIENT_CAPABILITIES_META_KEY]: {} },
    });
    pipe.answer(id, { supportedVersions: ['2026-07-28'], capabilities: {} });
    expect(await introducing).toEqual({
      protocolVersion: '2026-07-28',
      serverInfo: { name: 'unnamed', version: 'unknown' },
      capabilities: {},
      instructions: null,
    });
    expect(pipe.methods()).toEqual(['initialize', 'server/discover']);
  });

  it.each(['refused', 'unanswered'])(
    'fails with the first refusal where the second is %s',
    async (how) => {
      const pipe = newPipe();
      const introducing = pipe.bridge.introduce(1_000, never);
      const failed = expect(introducing).rejects.toMatchObject({
        code: 'mcp_failed',
        message: expect.stringContaining('it refused: "not today"') as string,
      });
      await settled();
      const refuse = (id: number | undefined, message: string): void => {
        pipe.say({ jsonrpc: '2.0', id, error: { code: -32_603, message } });
      };
      refuse(pipe.last('initialize').id, 'not today');
      await settled();
      if (how === 'refused') refuse(pipe.last('server/discover').id, 'what?');
      await pipe.clock.advance(1_000);
      await failed;
    },
  );
});

describe('adoption', () => {
  it('goes on without a word to the program', async () => {
    const earlier = await introduced(good);
    const pipe = new Pipe({ introduction: earlier.bridge.introduction });
    await settled();
    expect(pipe.read).toEqual([]);
    expect(pipe.bridge.introduction).toEqual(good);
    pipe.answer(earlier.last('initialize').id, good);
    expect(pipe.bridge.lateAnswers).toBe(1);
  });
});
