import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type {
  BatchDetail,
  BatchPage,
  BatchStatus,
  Pipeline,
  PreviewBatchResponse,
  ProjectSummary,
  ProofCheck,
} from '@flywheel/api';
import { parseAmount } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { createFlywheelClient } from '@flywheel/sdk';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { checkAirdrop } from '../src/commands/airdrop/check.ts';
import { type AirdropPlan, planAirdrop } from '../src/commands/airdrop/plan.ts';
import { requireSameRows, writeReceipt } from '../src/commands/airdrop/receipt.ts';
import { createConsoleClient } from '../src/console-client.ts';
import type { RunState } from '../src/run-state.ts';
import { makeTemporaryFolder } from './wallet-files.ts';

const DECIMALS = 6;
const addresses = await Promise.all(Array.from({ length: 12 }, async () => (await generateKeyPairSigner()).address));
const [ALICE, BOB] = [addressAt(0), addressAt(1)];

describe('checkAirdrop', () => {
  it('compares the total of several batches with the limit, the tokens and the SOL of the vault', async () => {
    const rows = rowsOf(addresses.map((address) => [address, '10']));
    const plan = planOf(rows, { pipelinesPerBatch: 1 });
    assert.ok(plan.parts.length > 1);
    const enough = { left: '120', tokens: '120', lamports: String(plan.parts.length) };
    assert.deepEqual((await check(plan, rows, enough)).issues, []);
    for (const [scarce, issue] of [
      [{ left: '119' }, /^All batches together airdrop 120 tokens; today’s limit has 119 left\./],
      [{ tokens: '119' }, /^All batches together need 120 tokens; the vault holds 119\.$/],
      [{ lamports: String(plan.parts.length - 1) }, /^New token accounts need .* SOL; the vault holds .* SOL\.$/],
    ] as const) {
      const { issues } = await check(plan, rows, { ...enough, ...scarce });
      assert.equal(issues.length, 1);
      assert.match(issues[0] ?? '', issue);
    }
  });

  it('names the rows that a shorter file has sent, if the proof is of this project', async () => {
    const short = rowsOf([[ALICE, '1']]);
    const rows = rowsOf([
      [ALICE, '1'],
      [BOB, '1'],
    ]);
    const recorded = payloadsOf(planOf(short));
    assert.match(
      String((await check(planOf(rows), rows, { recorded })).issues),
      /^Line 1 is in an earlier batch, with other rows: the file has changed since it was sent\./,
    );
    assert.deepEqual((await check(planOf(rows), rows, { recorded, vault: 'of another project' })).issues, []);
  });

  it('names as many rows as an earlier batch has paid, and none that it failed to pay', async () => {
    const rows = rowsOf([ALICE, ALICE, ALICE, BOB].map((address) => [address, '1']));
    const batch: KnownBatch = {
      status: 'FAILED',
      pipelines: [
        { type: 'T', state: 'executed', payload: '{"sha256":"a"}', actions: [payment(ALICE), payment(ALICE)] },
        { type: 'T', state: 'failed', payload: '{"sha256":"b"}', actions: [payment(BOB)] },
      ],
    };
    const { issues } = await check(planOf(rows), rows, { batches: [batch] });
    assert.equal(issues.length, 1);
    assert.match(issues[0] ?? '', /^2 lines, 1 to 2, are already paid in batch /);
  });

  it('does not take what a batch that is resumed has paid for a payment of the other rows', async () => {
    const rows = rowsOf([...addresses, ...addresses].map((address) => [address, '1']));
    const plan = planOf(rows, { pipelinesPerBatch: 1 });
    const [[first] = [], ...others] = plan.parts;
    assert.ok(first && others.length > 1);
    const batch: KnownBatch = { status: 'EXECUTED', pipelines: [{ ...first.pipeline, state: 'executed' }] };
    const known = { recorded: [first.pipeline.payload], usedKeys: 1, batches: [batch] };
    assert.deepEqual(await check(plan, rows, known), { begunParts: 1, issues: [] });
  });
});

describe('requireSameRows', () => {
  const rows = rowsOf([
    [ALICE, '1'],
    [BOB, '1'],
  ]);
  const state: RunState = { read: () => null, write: () => undefined, keep: () => undefined, keptFile: '' };

  it('rejects a file with rows more or less than the receipt', async () => {
    await using folder = await makeTemporaryFolder();
    const receiptFile = join(folder.path, 'receipt.csv');
    const known = { receiptFile, state, content: '' };
    writeReceipt(receiptFile, rows, []);
    await requireSameRows(known, rows);
    const longer = [...rows, ...rowsOf([[ALICE, '2']])];
    for (const changed of [longer, rows.slice(0, 1)]) {
      await assert.rejects(requireSameRows(known, changed), /is the receipt of other rows/);
    }
    await writeFile(receiptFile, '');
    await assert.rejects(requireSameRows(known, rows), /is the receipt of other rows/);
  });

  it('rejects a receipt that cannot be read, which may be that of other rows', async () => {
    await using folder = await makeTemporaryFolder();
    const receiptFile = join(folder.path, 'receipt.csv');
    await mkdir(receiptFile);
    await assert.rejects(requireSameRows({ receiptFile, state, content: '' }, rows), {
      ...{ code: 'ERR_FILE', message: /^Cannot read the receipt / },
    });
  });
});

const OWN_VAULT = 'of this project';

interface KnownToService {
  /** Payloads of which the service knows a proof, by the vault `vault`. */
  readonly recorded?: readonly string[];
  readonly vault?: string;
  /** Number of the keys that are used, among those that it is asked for. */
  readonly usedKeys?: number;
  readonly batches?: readonly KnownBatch[];
  /** Rest of today's limit, and funds of the vault, in the answer of a preview. Each batch needs one lamport. */
  readonly left?: string;
  readonly tokens?: string;
  readonly lamports?: string;
}

interface KnownBatch {
  readonly status: BatchStatus;
  readonly pipelines: readonly (Pipeline & Pick<BatchDetail['pipelines'][number], 'state'>)[];
}

/** Checks a plan with a service that knows this. */
function check(plan: AirdropPlan, rows: readonly AirdropRow[], known: KnownToService) {
  const { recorded = [], vault = OWN_VAULT, batches = [] } = known;
  let { usedKeys = 0 } = known;
  const answer = (body: object, status = 200) =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
  const stubFetch: typeof fetch = async (target, init) => {
    const { pathname } = new URL(String(target));
    if (pathname.endsWith('/preview')) return answer(previewOf(known));
    if (pathname.endsWith('/init')) {
      usedKeys -= 1;
      if (usedKeys >= 0) return answer({ error: 'ERR_DUPLICATE_IDEMPOTENCY_KEY', message: 'It is used.' }, 409);
      return answer({ error: 'ERR_FLYWHEEL_NO_INSTRUCTIONS', message: 'Nothing to do.' }, 400);
    }
    if (pathname.endsWith('/proof')) {
      const { type, payload } = JSON.parse(String(init?.body));
      return answer(proofOf(type, recorded.includes(payload) ? vault : null));
    }
    if (pathname.endsWith('/batches')) return answer(pageOf(batches));
    return answer(detailOf(batches, Number(pathname.slice(-12))));
  };
  const project: ProjectSummary = {
    ...{ id: idOf(99), wallet: 'w', vaultAddress: OWN_VAULT, approvalMode: 'automatic', openBatches: 0 },
    ...{ isPaused: false, isAdmitted: true, dateCreated: NOW },
    token: { id: 't', mint: 'm', decimals: DECIMALS, program: 'spl-token' },
  };
  const client = createFlywheelClient({ url: 'http://stub', apiKey: 'key', fetch: stubFetch });
  const console = createConsoleClient({ url: 'http://stub', fetch: stubFetch });
  return checkAirdrop({ client, console, project, signal: new AbortController().signal }, plan, rows);
}

const NOW = new Date().toISOString();

function previewOf({ left = '1000', tokens = '1000', lamports = '1000' }: KnownToService): PreviewBatchResponse {
  const limit = { cap: left, used: '0', asked: '0', left, resetsAt: NOW };
  return {
    ...{ pipelines: [], problems: [], limits: { burn: limit, airdrop: limit } },
    funds: {
      tokens: { needed: '0', available: tokens, missing: '0' },
      lamports: { needed: '1', available: lamports, missing: '0' },
    },
    cost: {
      ...{ feeLamports: '0', tipLamports: '0', vaultRentLamports: '0' },
      ...{ rentLockedLamports: '0', operatorNetLamports: '0' },
    },
  };
}

/** @param vaultAddress the vault that has written the proof; null for none. */
function proofOf(type: string, vaultAddress: string | null): ProofCheck {
  if (vaultAddress === null) return { verdict: 'nothing', message: 'Nothing is known.', pipelines: [] };
  const place = { batchId: idOf(0), batchIndex: '1', status: 'EXECUTED' as const, pipeline: 0 };
  const found = { ...place, type, hash: '', mintAddress: 'm', multisig: 's', vaultAddress, isOnChain: true };
  return { verdict: 'proven', message: 'It is on chain.', pipelines: [found] };
}

function pageOf(batches: readonly KnownBatch[]): BatchPage {
  const counts = { actions: { burn: 0, airdrop: 1, memo: 0 }, burned: '0', airdropped: '1', executedPipelines: 1 };
  const common = { waitsFor: 'nothing' as const, types: [], operatorLamports: '0', lockedLamports: '0', ...counts };
  return {
    batches: batches.map(({ status, pipelines }, i) => ({
      ...{ ...common, id: idOf(i), batchIndex: '1', status, pipelines: pipelines.length },
      ...{ dateCreated: NOW, dateUpdated: NOW },
    })),
  };
}

function detailOf(batches: readonly KnownBatch[], index: number): BatchDetail {
  const { status = 'FAILED', pipelines = [] } = batches[index] ?? {};
  return {
    batch: {
      ...{ id: idOf(index), flywheelId: 'f', tokenId: 't', mintAddress: 'm', status, batchIndex: '1' },
      ...{ vaultIndex: '0', multisig: 's', vaultAddress: OWN_VAULT, dateCreated: NOW, dateUpdated: NOW },
    },
    ...{ projectId: idOf(99), waitsFor: 'nothing', timeline: [], bundles: [], executedPipelines: 1 },
    pipelines: pipelines.map((pipeline) => ({ ...pipeline, instructions: [], memo: '', bytes: 0, maxBytes: 0 })),
  };
}

function idOf(index: number): string {
  return `00000000-0000-8000-8000-${String(index).padStart(12, '0')}`;
}

function rowsOf(list: readonly (readonly [Address, string])[]): AirdropRow[] {
  return list.map(([address, amount], i) => ({
    ...{ address, amount, baseUnits: parseAmount(amount, DECIMALS), lines: [i + 1] },
  }));
}

function planOf(rows: readonly AirdropRow[], options: { readonly pipelinesPerBatch?: number } = {}): AirdropPlan {
  return planAirdrop(rows, { type: 'SEASON', round: '', run: 1, token: {}, ...options });
}

function payloadsOf({ parts }: AirdropPlan): string[] {
  return parts.flat().map(({ pipeline }) => pipeline.payload);
}

function payment(toAddress: Address): Pipeline['actions'][number] {
  return { action: 'AIRDROP', toAddress, amount: 1 };
}

function addressAt(index: number): Address {
  const address = addresses[index];
  assert.ok(address);
  return address;
}
