import { compileVaultMessage, vaultMessageSize } from '@flywheel/squads';
import type { Instruction } from '@solana/kit';
import type { CompiledPipeline, VaultAction, VaultPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { airdrop } from './airdrop.ts';
import { burn } from './burn.ts';
import { memo } from './memo.ts';
import { proofMemo } from './proof-memo.ts';
import { checkBytes, checkTrace } from './size.ts';
import { type Vault, vaultOf } from './vault.ts';
import { withdraw } from './withdraw.ts';

type Target = Pick<Project, 'token' | 'flywheel'>;

/**
 * Checked pipelines to the vault's instructions: each one's proof memo, then its actions in order.
 * @throws ApiError ERR_FLYWHEEL_PIPELINE_TOO_BIG for the first that does not fit one transaction.
 */
export async function compilePipelines(
  pipelines: readonly VaultPipeline[],
  project: Target,
): Promise<CompiledPipeline[]> {
  const vault = await vaultOf(project);
  const compiled: CompiledPipeline[] = [];
  // One after the other, so that a request which does not fit ends at its first pipeline too big.
  for (const [position, pipeline] of pipelines.entries()) {
    compiled.push(await compileFor(vault, pipeline, position, project));
  }
  return compiled;
}

/** As `compilePipelines`, one of them; `position` is only for the error. */
export async function compilePipeline(
  pipeline: VaultPipeline,
  position: number,
  project: Target,
): Promise<CompiledPipeline> {
  return compileFor(await vaultOf(project), pipeline, position, project);
}

async function compileFor(
  vault: Vault,
  pipeline: VaultPipeline,
  position: number,
  { flywheel }: Target,
): Promise<CompiledPipeline> {
  // Deriving addresses is the dear part: a pipeline of thousands of airdrops is refused before it.
  if (pipeline.actions.length > MAX_ACTIONS_WORTH_MEASURING) checkTrace(pipeline, position);
  const actions = await Promise.all(pipeline.actions.map((action) => instructionsOf(action, vault)));
  const instructions = [memo(proofMemo(pipeline), vault), ...actions.flat()];
  const context = { vault: vault.address, lookupTables: [flywheel.multisig.lookupTable] };
  checkBytes(vaultMessageSize(instructions, context), position);
  checkTrace(pipeline, position);
  return { ...pipeline, instructions, vaultMessage: compileVaultMessage(instructions, context) };
}

/** Below it a pipeline too big is refused by its bytes, which says more; 60 actions can never fit the trace. */
const MAX_ACTIONS_WORTH_MEASURING = 60;

async function instructionsOf(action: VaultAction, vault: Vault): Promise<Instruction[]> {
  switch (action.action) {
    case 'BURN':
      return [burn(action, vault)];
    case 'AIRDROP':
      return airdrop(action, vault);
    case 'MEMO':
      return [memo(action.message, vault)];
    case 'WITHDRAW':
      return withdraw(action, vault);
    default:
      return action satisfies never;
  }
}
