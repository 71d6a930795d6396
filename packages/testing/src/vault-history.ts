import type { Pipeline } from '@flywheel/api';
import { formatProofMemo, MEMO_PROGRAM_ADDRESS, proofHash } from '@flywheel/protocol';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from './batches.ts';
import { findMultisig, land, tokenAccountOf } from './chain.ts';
import { approveForCompany, type Decider } from './decisions.ts';
import { requireOk, type TestProject } from './project.ts';
import { openStranger } from './stranger.ts';
import { approve, rotateWallet, setUpWithdrawal, waitForWithdrawal } from './treasury.ts';
import type { World } from './world.ts';

/** What `makeHistory` had the vault do, in base units of a token with 6 decimals, and lamports. */
export interface VaultHistory {
  readonly pipelines: readonly Pick<Pipeline, 'type' | 'payload'>[];
  readonly burned: bigint;
  readonly airdropped: bigint;
  readonly withdrawnTokens: bigint;
  readonly withdrawnLamports: bigint;
  /** Signature of the pipelines' approval. */
  readonly approval: string;
  /** Signatures of their executions. */
  readonly executions: readonly string[];
  /** Transactions by strangers that each gave the vault one lamport, and wrote a proof as their own memo. */
  readonly dust: readonly string[];
  /** Receiver of the withdrawals. */
  readonly receiver: Address;
  /** The wallet that has replaced the project's. */
  readonly newWallet: Address;
}

/**
 * Gives the vault of a new project a history: three pipelines, two withdrawals and a rotation, and strangers who name its
 * accounts in a batch of their own, write its proofs as their own memos, and send it dust. It returns when all is finalized.
 */
export async function makeHistory(world: World, project: TestProject, company: Decider): Promise<VaultHistory> {
  const [viewer, receiver, newWallet] = [
    await generateKeyPairSigner(),
    await generateKeyPairSigner(),
    await generateKeyPairSigner(),
  ];
  const pipelines: Pipeline[] = [
    { type: 'WATCH_AD', payload: '{"adId":"1"}', actions: [{ action: 'BURN', amount: 2.5 }] },
    {
      type: 'WATCH_AD',
      payload: '{"adId":"2"}',
      actions: [{ action: 'AIRDROP', toAddress: viewer.address, amount: 1.5 }],
    },
    {
      type: 'PURCHASE',
      payload: '{"orderId":"SO-1"}',
      actions: [
        { action: 'MEMO', message: 'thank you' },
        { action: 'BURN', amount: 0.25 },
      ],
    },
  ];
  const batch = await setUpBatch(world, project, pipelines);
  requireOk(await executeSigned(world, project, batch));
  const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  const [approval = '', ...executions] = (executeResult?.successfulExecutions ?? []).flatMap(
    ({ txHashes }) => txHashes,
  );

  const dust = await actAsStranger(world, project);
  for (const [asset, amount] of [
    ['SOL', '1'],
    ['TOKEN', '10'],
  ] as const) {
    const batchId = await setUpWithdrawal(world, project, { asset, to: receiver.address, amount });
    await approveByAll(world, project, company, batchId);
  }
  const { batchId } = requireOk(await rotateWallet(world, project, newWallet));
  await waitForWithdrawal(world, project, batchId, (seen) => seen.batch.status === 'FINALIZED');
  requireOk(await approve(world, project, batchId));
  requireOk(await approveForCompany(world, company, batchId));
  await waitUntil(
    'the rotation',
    () => findMultisig(world, project),
    ({ wallet }) => wallet === newWallet.address,
  );
  await awaitFinalized(world);
  return {
    pipelines,
    burned: 2_750_000n,
    airdropped: 1_500_000n,
    withdrawnTokens: 10_000_000n,
    withdrawnLamports: 1_000_000_000n,
    ...{ approval, executions, dust },
    receiver: receiver.address,
    newWallet: newWallet.address,
  };
}

/** Waits until everything that is confirmed now is finalized. */
export async function awaitFinalized({ rpc }: Pick<World, 'rpc'>): Promise<void> {
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  await waitUntil(
    `slot ${slot}`,
    () => rpc.getSlot({ commitment: 'finalized' }).send(),
    (finalized) => finalized > slot,
  );
}

const DUST = 3;

async function approveByAll(world: World, project: TestProject, company: Decider, batchId: string): Promise<void> {
  requireOk(await approve(world, project, batchId));
  requireOk(await approveForCompany(world, company, batchId));
  await waitForWithdrawal(world, project, batchId, (seen) => seen.batch.status === 'EXECUTED');
}

async function actAsStranger(world: World, project: TestProject): Promise<string[]> {
  const vault = project.vaultAddress as Address;
  const { address: multisig } = await findMultisig(world, project);
  const { signer, forge } = await openStranger(world);
  await forge([vault, multisig, await tokenAccountOf(world, project.mint, vault)]);
  const hash = proofHash({ type: 'WATCH_AD', payload: '{"adId":"3"}' });
  const text = formatProofMemo({ type: 'WATCH_AD', hash });
  const memo = { programAddress: MEMO_PROGRAM_ADDRESS, accounts: [], data: new TextEncoder().encode(text) };
  for (let amount = 1; amount <= DUST; amount++) {
    const dust = getTransferSolInstruction({ source: signer, destination: vault, amount: 1n });
    await land(world, signer, [memo, dust]);
  }
  const newest = await world.rpc.getSignaturesForAddress(vault, { limit: DUST, commitment: 'confirmed' }).send();
  return newest.map(({ signature }) => signature);
}
