import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Ledger, PreviewBatchResponse } from '@flywheel/api';
import { decodeInstruction } from '@flywheel/protocol';
import { waitUntil } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, execute, getBatch, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.stop());

describe('POST /v1/flywheel/batch/preview', () => {
  // The first test, while no batch is being processed.
  it('stores nothing', async () => {
    const project = await createProject(world);
    const before = await countRows();
    await preview(project, await mixedPipelines(5));
    assert.deepEqual(await countRows(), before);
  });

  for (const [name, token2022, count] of [
    ['one pipeline, SPL Token', false, 1],
    ['seven pipelines, Token-2022', true, 7],
    ['forty pipelines, SPL Token', false, 40],
  ] as const) {
    it(`predicts the ledger to the lamport: ${name}`, async () => {
      const project = await createProject(world, { token2022 });
      const pipelines = await mixedPipelines(count);
      const { cost, problems } = await preview(project, pipelines);
      assert.deepEqual(problems, []);
      const ledger = await executeToTheEnd(project, pipelines);
      assert.deepEqual(cost, {
        feeLamports: ledger.feeLamports,
        tipLamports: ledger.tipLamports,
        vaultRentLamports: ledger.vaultRentLamports,
        rentLockedLamports: ledger.rentOutLamports,
        operatorNetLamports: ledger.operatorNetLamports,
      });
    });
  }

  it('predicts less rent for a recipient whose address already holds lamports', async () => {
    const project = await createProject(world);
    const recipient = await generateKeyPairSigner();
    const first = await preview(project, [airdropPipeline(recipient.address)]);
    await world.localnet.bank.airdrop(createdBy(first), 1_000_000n);
    const pipelines = [airdropPipeline(recipient.address)];
    const { cost } = await preview(project, pipelines);
    assert.equal(cost.vaultRentLamports, '1039280');
    assert.equal((await executeToTheEnd(project, pipelines)).vaultRentLamports, '1039280');
  });

  it('answers the same instructions and sizes as init', async () => {
    const project = await createProject(world);
    const pipelines = await mixedPipelines(4);
    const previewed = await preview(project, pipelines);
    const { batch } = requireOk(await init(world.url, project.apiKey, pipelines));
    assert.deepEqual(
      previewed.pipelines.map(({ instructions }) => instructions),
      batch.pipelines.map(({ instructions }: { instructions: string[] }) => instructions),
    );
    for (const { bytes, maxBytes } of previewed.pipelines)
      assert.ok(bytes > 0 && bytes <= maxBytes && maxBytes === 856);
  });

  it('lists all issues at once: limits, funds and pipelines, and what is left', async () => {
    const project = await createProject(world, {
      burnLimit: '10',
      airdropLimit: '5',
      vaultBaseUnits: 3_000_000n,
      vaultLamports: 0n,
    });
    const [recipient, mint] = [await generateKeyPairSigner(), project.mint];
    requireOk(await init(world.url, project.apiKey, [burnPipeline(4)]));
    const pipelines = [
      burnPipeline(2.5),
      burnPipeline(8),
      airdropPipeline(recipient.address, 6),
      airdropPipeline(mint),
    ];
    const { problems, funds, limits } = await preview(project, pipelines);
    assert.deepEqual(
      problems.map(({ code, place }) => [code, place]),
      [
        ['ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', undefined],
        ['ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', undefined],
        ['ERR_VAULT_UNDERFUNDED', undefined],
        ['ERR_VAULT_UNDERFUNDED', undefined],
        ['ERR_BATCH_WOULD_FAIL', 'pipelines[3].actions[0].toAddress'],
      ],
    );
    assert.deepEqual(funds.tokens, { needed: '17.5', available: '3', missing: '14.5' });
    assert.equal(funds.lamports.available, '0');
    assert.equal(funds.lamports.missing, funds.lamports.needed);
    const { resetsAt } = limits.burn;
    assert.deepEqual(limits, {
      burn: { cap: '10', used: '4', asked: '10.5', left: '6', resetsAt },
      airdrop: { cap: '5', used: '0', asked: '7', left: '5', resetsAt },
    });
    assert.match(resetsAt, /T00:00:00\.000Z$/);
  });

  it('rejects an invalid request like init', async () => {
    const project = await createProject(world, { scopes: ['burn'] });
    const tooBig = { ...burnPipeline(), actions: [{ action: 'MEMO', message: 'm'.repeat(900) }] };
    const requests = [
      [],
      [{ ...burnPipeline(), actions: [] }],
      [burnPipeline(0)],
      [airdropPipeline((await generateKeyPairSigner()).address)],
      [tooBig],
    ];
    for (const pipelines of requests) {
      const [previewed, initialized] = await Promise.all([
        ask(project, pipelines),
        init(world.url, project.apiKey, pipelines),
      ]);
      assert.ok(previewed.status >= 400 && previewed.status < 500);
      assert.deepEqual([previewed.status, previewed.body], [initialized.status, initialized.body]);
    }
  });

  it('has a rate limit of its own', async () => {
    await world.restart({ RATE_LIMIT_PREVIEW: '1/60' });
    const project = await createProject(world);
    await preview(project, [burnPipeline()]);
    const { status, headers } = await ask(project, [burnPipeline()]);
    assert.equal(status, 429);
    assert.equal(headers.get('ratelimit-policy'), '"preview";q=1;w=60');
    requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
    await world.restart();
  });
});

async function mixedPipelines(count: number) {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { address } = await generateKeyPairSigner();
      return {
        ...burnPipeline(1),
        actions: [...burnPipeline(1).actions, ...(i % 3 === 0 ? [] : airdropPipeline(address).actions)],
      };
    }),
  );
}

function ask(project: TestProject, pipelines: readonly unknown[]) {
  return send(world.url, 'POST', '/v1/flywheel/batch/preview', { key: project.apiKey, body: { pipelines } });
}

async function preview(project: TestProject, pipelines: readonly unknown[]): Promise<PreviewBatchResponse> {
  return requireOk(await ask(project, pipelines));
}

async function executeToTheEnd(project: TestProject, pipelines: readonly unknown[]): Promise<Ledger> {
  const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  const headers = { prefer: 'wait=120' };
  assert.equal(requireOk(await execute(world.url, project.apiKey, batch.id, signedTx, headers)).status, 'EXECUTED');
  const read = async (): Promise<Ledger> =>
    requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=ledger')).ledger;
  return waitUntil('the ledger of a closed batch', read, ({ isComplete }) => isComplete);
}

/** Finds the token account that the first pipeline creates, in its second instruction. */
function createdBy({ pipelines }: PreviewBatchResponse): Address {
  const creation = pipelines[0]?.instructions[1];
  assert.ok(creation !== undefined);
  const [, tokenAccount] = decodeInstruction(creation).accounts ?? [];
  assert.ok(tokenAccount);
  return tokenAccount.address;
}

/** Of every table but the rate limits, which count any request, and the pool of nonces, which fills by itself. */
async function countRows(): Promise<Record<string, bigint>> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_name not in ('rate_limits', 'nonces') order by 1
  `.execute(world.db);
  const counts: Record<string, bigint> = {};
  for (const { name } of tables) {
    const { rows } = await sql<{ count: bigint }>`select count(*) as count from ${sql.table(name)}`.execute(world.db);
    counts[name] = rows[0]?.count ?? 0n;
  }
  return counts;
}
