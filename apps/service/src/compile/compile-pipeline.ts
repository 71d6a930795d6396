import { ApiError } from '@flywheel/api';
import {
  countPipelineInstructions,
  MAX_PIPELINE_BYTES,
  MAX_PIPELINE_INSTRUCTIONS,
  proofMemo,
} from '@flywheel/protocol';
import { compileVaultMessage, vaultMessageSize } from '@flywheel/squads';
import type { CompiledPipeline, VaultPipeline } from '../model/batch.ts';
import { mapInSlices } from '../model/in-slices.ts';
import type { Project } from '../model/project.ts';
import { compileAction, compileMemo } from './actions.ts';
import { type Vault, vaultOf } from './vault.ts';

type Target = Pick<Project, 'token' | 'flywheel'>;

/**
 * Compiles checked pipelines to instructions of the vault: for each one its proof memo, then its actions in order.
 * @throws ApiError ERR_FLYWHEEL_PIPELINE_TOO_BIG for the first pipeline that does not fit one transaction.
 */
export function compilePipelines(pipelines: readonly VaultPipeline[], project: Target): Promise<CompiledPipeline[]> {
  const vault = vaultOf(project);
  return mapInSlices(pipelines, (pipeline, position) => compilePipeline(vault, pipeline, position, project));
}

function compilePipeline(
  vault: Vault,
  pipeline: VaultPipeline,
  position: number,
  { flywheel }: Target,
): CompiledPipeline {
  // Deriving addresses is expensive, so a pipeline of thousands of airdrops is refused before.
  if (pipeline.actions.length > MAX_MEASURED_ACTIONS) checkInstructionCount(pipeline, position);
  const actions = pipeline.actions.flatMap((action) => compileAction(action, vault));
  const instructions = [compileMemo(proofMemo(pipeline), vault), ...actions];
  const context = { vault: vault.address, lookupTables: [flywheel.multisig.lookupTable] };
  checkBytes(vaultMessageSize(instructions, context), position);
  checkInstructionCount(pipeline, position);
  return { ...pipeline, instructions, vaultMessage: compileVaultMessage(instructions, context) };
}

/**
 * Pipelines of up to this many actions are compiled first, so that the error can name their bytes. More actions than this
 * always exceed the number of instructions.
 */
const MAX_MEASURED_ACTIONS = 60;

function checkInstructionCount({ actions }: VaultPipeline, position: number): void {
  const count = countPipelineInstructions(actions);
  if (count <= MAX_PIPELINE_INSTRUCTIONS) return;
  throw new ApiError('ERR_FLYWHEEL_PIPELINE_TOO_BIG', {
    pipeline: position,
    problem: `may run ${count} instructions, inner ones included; one transaction runs ${MAX_PIPELINE_INSTRUCTIONS}.`,
  });
}

function checkBytes(vaultMessageBytes: number, position: number): void {
  if (vaultMessageBytes <= MAX_PIPELINE_BYTES) return;
  throw new ApiError('ERR_FLYWHEEL_PIPELINE_TOO_BIG', {
    pipeline: position,
    problem: `needs ${vaultMessageBytes} bytes; one transaction holds ${MAX_PIPELINE_BYTES}.`,
  });
}
