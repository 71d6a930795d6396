import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchDetail, BatchProgress } from '@flywheel/api';
import {
  amountStage,
  approvalStage,
  batchState,
  costOfRow,
  costSoFar,
  totalsOf,
} from '../src/features/batch/batch-summary.ts';
import { filterPipelines, offerChoices, type PipelineFilter } from '../src/features/batch/pipeline-filter.ts';
import { writeReceipt } from '../src/features/batch/receipt.ts';
import { applyProgress } from '../src/lib/api/apply-progress.ts';

const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';

const RUNNING = { pipelines: 10, isBlocked: false, isOwner: true };

describe('a batch on the page', () => {
  it('gives each pipeline its state and transaction as bundles land', () => {
    const after = applyProgress(detailOf(5), progressOf({ executedPipelines: 3 }));
    assert.deepEqual(
      after.pipelines.map(({ state, signature }) => [state, signature]),
      [
        ['executed', 'first'],
        ['executed', 'first'],
        ['executed', 'second'],
        ['waiting', undefined],
        ['waiting', undefined],
      ],
    );
  });

  it('says of a failed batch which pipeline failed and which were never reached', () => {
    const failure = { message: '', remedy: '', pipeline: 3, isFinal: true };
    const failed = progressOf({ executedPipelines: 3, status: 'FAILED', failure });
    assert.deepEqual(
      applyProgress(detailOf(5), failed).pipelines.map(({ state }) => state),
      ['executed', 'executed', 'executed', 'failed', 'skipped'],
    );
  });

  it('clears the execution issue once the batch continues', () => {
    const heldUp = { ...detailOf(1), failure: { message: '', remedy: '', isFinal: false }, expiresAt: 'then' };
    const after = applyProgress(heldUp, progressOf({ executedPipelines: 0 }));
    assert.deepEqual([after.failure, after.expiresAt], [undefined, undefined]);
  });

  it('counts as paid what does not come back, and the rent that does apart', () => {
    const ledger = {
      feeLamports: '5000',
      tipLamports: '1179',
      rentOutLamports: '9000000',
      rentBackLamports: '4000000',
    };
    assert.deepEqual(costSoFar(ledger), { paidLamports: 6_179n, lockedLamports: 5_000_000n });
  });

  it('in a list has a cost without rent that comes back, until nothing of it is left on chain', () => {
    const lamports = { operatorLamports: '84006179', lockedLamports: '84000000' };
    const open = costOfRow({ ...lamports, waitsFor: 'wallet' });
    assert.deepEqual(open, { paidLamports: 6_179n, lockedLamports: 84_000_000n });
    const closed = costOfRow({ operatorLamports: '7179', lockedLamports: '1000', waitsFor: 'nothing' });
    assert.deepEqual(closed, { paidLamports: 7_179n, lockedLamports: 0n });
    assert.equal(amountStage('FINALIZED'), 'planned');
    assert.equal(amountStage('EXECUTED'), null);
    assert.equal(amountStage('FAILED'), 'requested');
  });

  it('finds pipelines by what their cards show, and offers only choices that leave some out', () => {
    const { pipelines } = applyProgress(detailOf(4), progressOf({ executedPipelines: 3, status: 'FAILED' }));
    const memo = { type: 'THANKS', payload: '{"n":1}', actions: [{ action: 'MEMO' as const, message: 'Well Done' }] };
    const all = [...pipelines, memo];
    const find = (text: string, choice: PipelineFilter['choice'] = 'all') =>
      filterPipelines(all, { choice, text }, new Set([2]));
    assert.deepEqual(find(''), [0, 1, 2, 3, 4]);
    assert.deepEqual(find(' well done '), [4]);
    assert.deepEqual(find('watch_ad', 'open'), [3]);
    assert.deepEqual(find(WALLET.slice(0, 8), 'executed'), [0, 1, 2]);
    assert.deepEqual(find('second'), [2]);
    assert.deepEqual(find('4'), [4]);
    const large = { ...memo, actions: [{ action: 'BURN', amount: 18_446_744 }] } as const;
    for (const text of ['18446744', '18,446,744']) {
      assert.deepEqual(filterPipelines([...all, large], { choice: 'all', text }, new Set()), [5]);
    }
    assert.deepEqual(find('', 'mismatches'), [2]);
    assert.deepEqual(find('nothing of the kind'), []);
    assert.deepEqual(
      offerChoices(all, new Set()).map(({ choice, count }) => `${choice} ${count}`),
      ['all 5', 'executed 3', 'open 1', 'burns 4', 'airdrops 4', 'memos 1'],
    );
  });

  it('fills the ring as pipelines are executed', () => {
    const standings = [
      { status: 'AVAILABLE_TO_QUEUE', waitsFor: 'setup', executedPipelines: 0 },
      { status: 'FINALIZED', waitsFor: 'wallet', executedPipelines: 0 },
      { status: 'FINALIZED', waitsFor: 'execution', executedPipelines: 0 },
      { status: 'FINALIZED', waitsFor: 'execution', executedPipelines: 5 },
      { status: 'EXECUTED', waitsFor: 'close', executedPipelines: 10 },
    ] as const;
    const closed = standings.map((standing) => batchState({ ...standing, ...RUNNING }).closed);
    assert.deepEqual(
      closed,
      closed.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(closed).size, closed.length);
    assert.equal(closed.at(-1), 1);
  });

  it('that has failed fills the ring by what was executed, also if it failed before its approval', () => {
    const failed = { status: 'FAILED', waitsFor: 'nothing', ...RUNNING } as const;
    assert.deepEqual(
      [0, 5].map((executedPipelines) => batchState({ ...failed, executedPipelines }).closed),
      [0, 0.5],
    );
  });

  it('that has failed says why it has ended, as far as that is known', () => {
    const failed = { status: 'FAILED', waitsFor: 'nothing', executedPipelines: 0, ...RUNNING } as const;
    const words = (['failed', 'expired', 'cancelled', 'rejected', undefined] as const).map(
      (endCause) => batchState({ ...failed, endCause }).word,
    );
    assert.deepEqual(words, ['Failed', 'Expired', 'Cancelled', 'Rejected', 'Failed']);
  });

  it('waits for the wallet, or for the person whose wallet it is', () => {
    const waiting = { status: 'FINALIZED', waitsFor: 'wallet', executedPipelines: 0, ...RUNNING } as const;
    assert.equal(batchState(waiting).word, 'Waiting for you');
    assert.equal(batchState({ ...waiting, isOwner: false }).word, 'Waiting for the wallet');
  });

  it('asks for the wallet’s signature only when it is needed', () => {
    const stageOf = (status: 'FINALIZED' | 'EXECUTED', waitsFor: BatchProgress['waitsFor']) =>
      approvalStage({ ...progressOf({ executedPipelines: 0, status }), waitsFor });
    assert.equal(stageOf('FINALIZED', 'wallet'), 'wallet');
    assert.equal(stageOf('FINALIZED', 'company'), 'company');
    assert.equal(stageOf('FINALIZED', 'execution'), 'executing');
    assert.equal(stageOf('EXECUTED', 'close'), 'over');
  });

  it('adds amounts to the last digit', () => {
    const actions = [
      { action: 'BURN' as const, amount: 0.1 },
      { action: 'BURN' as const, amount: 0.2 },
      { action: 'AIRDROP' as const, toAddress: WALLET, amount: 1e-9 },
      { action: 'AIRDROP' as const, toAddress: WALLET, amount: 999_999_999_999_999 },
      { action: 'MEMO' as const, message: 'x' },
    ];
    assert.deepEqual(totalsOf([{ actions }]), {
      burned: '0.3',
      airdropped: '999999999999999.000000001',
      counts: { burns: 2, airdrops: 2, memos: 1 },
    });
  });

  it('writes a receipt of every airdrop with its transaction', () => {
    const pipelines = applyProgress(detailOf(4), progressOf({ executedPipelines: 3 })).pipelines;
    const text = writeReceipt({ pipelines, linkOf: (signature) => `https://explorer/tx/${signature}?a=1,2` });
    assert.deepEqual(text.split('\r\n'), [
      'address,amount,pipeline,state,transaction,explorer',
      `${WALLET},0.0000001,0,executed,first,"https://explorer/tx/first?a=1,2"`,
      `${WALLET},0.0000001,1,executed,first,"https://explorer/tx/first?a=1,2"`,
      `${WALLET},0.0000001,2,executed,second,"https://explorer/tx/second?a=1,2"`,
      `${WALLET},0.0000001,3,waiting,,`,
      '',
    ]);
  });
});

function detailOf(count: number): BatchDetail {
  const pipeline = {
    type: 'WATCH_AD',
    payload: '{}',
    actions: [
      { action: 'BURN' as const, amount: 1 },
      { action: 'AIRDROP' as const, toAddress: WALLET, amount: 1e-7 },
    ],
    instructions: [],
    memo: '',
    state: 'waiting' as const,
    bytes: 1,
    maxBytes: 2,
  };
  return { ...progressOf({ executedPipelines: 0 }), pipelines: Array.from({ length: count }, () => pipeline) };
}

interface Moved {
  readonly executedPipelines: number;
  readonly status?: BatchDetail['batch']['status'];
  readonly failure?: NonNullable<BatchDetail['failure']>;
}

function progressOf({ executedPipelines, status = 'FINALIZED', failure }: Moved): BatchProgress {
  const at = '2026-11-21T00:00:00.000Z';
  const bundle = {
    bundleId: 'b',
    phase: 'execution' as const,
    state: 'landed' as const,
    isAtomic: true,
    signatures: ['first', 'second', 'third'],
    landedSignatures: ['first', 'second'],
    firstPipeline: 0,
    pipelineCounts: [2, 1, 1],
    tipLamports: '0',
    sentAt: at,
  };
  return {
    batch: {
      id: '00000000-0000-4000-8000-000000000000',
      flywheelId: 'f',
      tokenId: 't',
      mintAddress: WALLET,
      status,
      batchIndex: '1',
      vaultIndex: '0',
      multisig: WALLET,
      vaultAddress: WALLET,
      dateCreated: at,
      dateUpdated: at,
    },
    projectId: '00000000-0000-4000-8000-000000000000',
    waitsFor: status === 'FINALIZED' ? 'execution' : 'close',
    timeline: [],
    bundles: [bundle],
    executedPipelines,
    ...(failure && { failure }),
  };
}
