import type { Action, Pipeline, RotateAction, WithdrawAction } from '@flywheel/api';
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

/** Reads what a proposal lets happen: messages of the vault, or a change of who votes; and compares it with what is shown. */
export async function lookAtContent(rpcUrl: string, batch: ShownBatch, token: VaultToken): Promise<Content> {
  const [rotation] = batch.pipelines.flatMap(({ actions }) => actions).filter(isRotation);
  if (rotation) return lookAtRotation(rpcUrl, batch, rotation);
  const onChain = await readBatch(rpcUrl, batch);
  const { vaultIndex } = onChain.batch;
  const inBatch = vaultIndex === 0 ? [] : [`The batch moves vault ${vaultIndex}, not vault 0.`];
  const differences = await compareBatch(batch.pipelines.map(toVaultPipeline), onChain.pipelines, token);
  return { onChain, differences: [...inBatch.map((text) => ({ pipeline: null, text })), ...differences] };
}

/** A proposal holds a rotation alone: whatever is shown beside it is not there. */
async function lookAtRotation(rpcUrl: string, batch: ShownBatch, rotation: RotateAction): Promise<Content> {
  const onChain = await readRotation(rpcUrl, batch);
  const shown = batch.pipelines.flatMap(({ actions }) => actions).length;
  const beside =
    shown === 1 ? [] : [{ pipeline: null, text: `${shown} actions are shown; a rotation on chain is one by itself.` }];
  return { onChain, differences: [...beside, ...compareRotation(rotation, onChain.changes)] };
}

function toVaultPipeline({ actions, ...pipeline }: ShownPipeline): VaultPipeline {
  return { ...pipeline, actions: actions.filter((action) => action.action !== 'ROTATE') };
}

function isRotation(action: ShownPipeline['actions'][number]): action is RotateAction {
  return action.action === 'ROTATE';
}
