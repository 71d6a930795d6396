import type { Action, Pipeline, RotateAction, WithdrawAction } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { VaultPipeline, VaultToken } from '../chain/instructions.ts';
import { type BatchOnChain, readBatch } from '../chain/read-batch.ts';
import { readRotation } from '../chain/read-rotation.ts';
import { compareBatch, type Difference } from './compare-batch.ts';
import { compareRotation } from './compare-rotation.ts';

/** A pipeline as it is shown to whoever signs; withdrawals and rotations only the console makes. */
export interface ShownPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly (Action | WithdrawAction | RotateAction)[];
}

export interface ShownBatch {
  readonly multisig: string;
  readonly batchIndex: string;
  readonly pipelines: readonly ShownPipeline[];
}

export interface Content {
  readonly onChain: Pick<BatchOnChain, 'multisig' | 'proposal'>;
  /** Between what the proposal lets happen and what is shown of it. */
  readonly differences: readonly Difference[];
}

/**
 * Reads what a proposal lets happen: messages of the vault, or a change of who votes; and compares it with what is shown
 * to `wallet`.
 */
export async function lookAtContent(
  rpcUrl: string,
  batch: ShownBatch,
  { wallet, token }: { readonly wallet: Address; readonly token: VaultToken },
): Promise<Content> {
  const [rotation] = batch.pipelines.flatMap(({ actions }) => actions).filter(isRotation);
  if (rotation) return lookAtRotation(rpcUrl, batch, rotation, wallet);
  const onChain = await readBatch(rpcUrl, batch);
  const { vaultIndex } = onChain.batch;
  const inBatch = vaultIndex === 0 ? [] : [`The batch moves vault ${vaultIndex}, not vault 0.`];
  const differences = await compareBatch(batch.pipelines.map(toVaultPipeline), onChain.pipelines, token);
  return { onChain, differences: [...inBatch.map((text) => ({ pipeline: null, text })), ...differences] };
}

/** A proposal holds a rotation alone: whatever is shown beside it is not there. */
async function lookAtRotation(
  rpcUrl: string,
  batch: ShownBatch,
  rotation: RotateAction,
  wallet: Address,
): Promise<Content> {
  const onChain = await readRotation(rpcUrl, batch);
  const shown = batch.pipelines.flatMap(({ actions }) => actions).length;
  const beside =
    shown === 1 ? [] : [{ pipeline: null, text: `${shown} actions are shown; a rotation on chain is one by itself.` }];
  const differences = [
    ...beside,
    ...sideFaults(rotation, wallet).map((text) => ({ pipeline: 0, text })),
    ...compareRotation(rotation, onChain.changes),
  ];
  return { onChain, differences };
}

/** Whoever is told that the company’s approver is replaced does not expect to lose their own vote. */
function sideFaults({ approver, from }: RotateAction, wallet: Address): string[] {
  if ((approver === 'wallet') === (from === wallet)) return [];
  const whose = from === wallet ? 'your own wallet' : `${from}, which is not your wallet ${wallet}`;
  return [`It is shown as a change of the ${approver}’s vote, and takes the vote of ${whose}.`];
}

function toVaultPipeline({ actions, ...pipeline }: ShownPipeline): VaultPipeline {
  return { ...pipeline, actions: actions.filter((action) => action.action !== 'ROTATE') };
}

function isRotation(action: ShownPipeline['actions'][number]): action is RotateAction {
  return action.action === 'ROTATE';
}
