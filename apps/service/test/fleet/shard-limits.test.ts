import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { assertError } from '@flywheel/testing/batches';
import { type Answer, send } from '@flywheel/testing/client';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import { type ShardAddress, type ShardProxy, startShardProxy } from '@flywheel/testing/shard-proxy';
import { addressOf, createProjectIn, openTwoShards, type TwoShards } from '@flywheel/testing/two-shards';

const QUESTIONS_PER_MINUTE = 20;
const SHARDS = 2;
/** The proxy remembers for so long that no shard has something, and the shard of a vault. */
const RECENT_MS = 3_000;

describe('the proxy in front of two shards', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let project: TestProject;
  let directories: readonly Directory[];
  let proxy: ShardProxy;

  before(async () => {
    shards = await openTwoShards();
    project = await createProjectIn(shards.second, shards.proxy);
    directories = await Promise.all([shards.first, shards.second].map((shard) => openDirectory(addressOf(shard))));
    proxy = await startProxy({ FRONT_PROXY: '127.0.0.1' });
  });
  after(async () => {
    await proxy?.stop();
    await Promise.all((directories ?? []).map((directory) => directory.close()));
    await shards?.stop();
  });

  it('refuses an address that names many unknown keys before it asks the shards, and serves all others', async () => {
    const startedAt = performance.now();
    const before = countQuestions();
    const answers = await many(3 * QUESTIONS_PER_MINUTE, () => readWith(unknownKey(), '198.51.100.1'));
    const minutes = 1 + (performance.now() - startedAt) / 60_000;
    const asked = countQuestions() - before;
    assert.ok(asked <= SHARDS * QUESTIONS_PER_MINUTE * minutes, `${asked} questions in ${minutes} minutes`);
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length >= (3 - minutes) * QUESTIONS_PER_MINUTE, `${refused.length} requests were refused`);
    for (const answer of refused) {
      assertError(answer, 429, 'ERR_RATE_LIMITED');
      assert.equal(answer.headers.get('retry-after'), '10');
    }
    assert.ok(answers.every(({ status }) => status === 429 || status === 401));

    assert.equal(
      (await readWith(project.apiKey, '198.51.100.2')).status,
      404,
      'the key is known, and the batch is not',
    );
    // The proxy knows this key now, so that the address that was refused may use it.
    assert.equal((await readWith(project.apiKey, '198.51.100.1')).status, 404);
    for (const path of [vaultPath(), `/console/api/projects/${randomUUID()}`]) {
      assertError(await send(proxy.url, 'GET', path, from('198.51.100.1')), 429, 'ERR_RATE_LIMITED');
    }
    assert.equal(
      requireOk(await send(proxy.url, 'GET', vaultPath(), from('198.51.100.2'))).address,
      project.vaultAddress,
    );
  });

  it('counts the addresses of one IPv6 network together', async () => {
    const answers = await many(3 * QUESTIONS_PER_MINUTE, (i) => readWith(unknownKey(), `2001:db8:1:2::${i + 1}`));
    assert.ok(answers.some(({ status }) => status === 429));
    assert.equal((await readWith(unknownKey(), '2001:db8:1:3::1')).status, 401);
  });

  it('remembers for a moment which shard has a vault, and that no shard has a key', async () => {
    const unknown = unknownKey();
    for (const read of [
      () => readWith(unknown, '198.51.100.3'),
      () => send(proxy.url, 'GET', vaultPath(), from('198.51.100.4')),
    ]) {
      const [startedAt, before] = [performance.now(), countQuestions()];
      const answers = await many(3 * QUESTIONS_PER_MINUTE, read);
      const times = 1 + Math.ceil((performance.now() - startedAt) / RECENT_MS);
      const asked = countQuestions() - before;
      assert.ok(asked <= SHARDS * times, `${asked} questions`);
      assert.ok(answers.every(({ status }) => status === 200 || status === 401));
    }
  });

  it('keeps an idle connection for longer than it tells clients, so that none sends on one that is being closed', async () => {
    const { headers } = await send(proxy.url, 'GET', vaultPath(), from('198.51.100.6'));
    const [, told] = /timeout=(\d+)/.exec(headers.get('keep-alive') ?? '') ?? [];
    const settings = await readFile(new URL('../../../../deploy/haproxy/shards.cfg', import.meta.url), 'utf8');
    const [, kept] = /timeout http-keep-alive (\d+)s/.exec(settings) ?? [];
    assert.ok(Number(kept) > Number(told), `${kept} s and ${told} s`);
  });

  it('believes only the proxy in front of it which address a request comes from', async () => {
    const exposed = await startProxy({});
    try {
      const answers = await many(3 * QUESTIONS_PER_MINUTE, (i) =>
        readWith(unknownKey(), `203.0.113.${i}`, exposed.url),
      );
      assert.ok(answers.some(({ status }) => status === 429));
    } finally {
      await exposed.stop();
    }
  });

  function startProxy(more: Readonly<Record<string, string>>): Promise<ShardProxy> {
    const [first, second] = directories.map(({ address }) => address);
    assert.ok(first && second);
    return startShardProxy([first, second], { QUESTIONS_PER_MINUTE: String(QUESTIONS_PER_MINUTE), ...more });
  }

  function countQuestions(): number {
    return directories.reduce((sum, { count }) => sum + count(), 0);
  }

  function vaultPath(): string {
    return `/console/api/vaults/${project.vaultAddress}`;
  }

  function readWith(key: string, address: string, url = proxy.url): Promise<Answer> {
    return send(url, 'GET', `/v1/flywheel/batch/${randomUUID()}`, { key, ...from(address) });
  }
});

/** A shard whose questions of the proxy are counted on their way. */
interface Directory {
  readonly address: ShardAddress;
  /** Questions so far. */
  count(): number;
  close(): Promise<void>;
}

async function openDirectory({ url, metricsUrl }: ShardAddress): Promise<Directory> {
  let questions = 0;
  const server = createServer(async (request, response) => {
    questions += 1;
    const { method = 'GET', url: path = '/' } = request;
    const body = await text(request);
    const answer = await fetch(new URL(path, metricsUrl), {
      method,
      ...(body !== '' && { body, headers: { 'content-type': 'application/json' } }),
    });
    response.writeHead(answer.status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    address: { url, metricsUrl: `http://127.0.0.1:${port}` },
    count: () => questions,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function from(address: string) {
  return { headers: { 'x-forwarded-for': address } };
}

/** Sends requests one after another. */
async function many(count: number, sendOne: (index: number) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; i < count; i += 1) answers.push(await sendOne(i));
  return answers;
}

function unknownKey(): string {
  return `fwk_${randomBytes(4).toString('hex')}${randomBytes(16).toString('hex')}`;
}
