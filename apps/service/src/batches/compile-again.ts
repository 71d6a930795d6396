import type { BatchKind } from '@flywheel/api';
import { address, type BatchContent, summarizeContent } from '@flywheel/protocol';
import { bytesEqual } from '@solana/kit';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import type { Batch, BatchAction, VaultPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { encodeReplacement } from '../squads/rotation.ts';
import { DamagedRecord } from '../store/damaged-record.ts';

/**
 * Compiles the stored request of a batch again, and compares the result with the stored messages, which other processes can
 * write. The kind decides which rules apply, so it must be the one of the batch's actions.
 * @returns what the batch does.
 * @throws DamagedRecord if a message or the kind differs, or if an instruction is of another program than a batch uses.
 */
export async function compileAgain(
  project: Pick<Project, 'token' | 'flywheel'>,
  { id, kind, pipelines }: Pick<Batch, 'id' | 'kind' | 'pipelines'>,
): Promise<BatchContent> {
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const kindOfActions = kindOf({ pipelines });
  if (kind !== kindOfActions) throw new DamagedRecord(`batch ${id}`, `it is stored as ${kind} and is ${kindOfActions}`);
  const [rotation] = actions.filter((action) => action.action === 'ROTATE');
  if (rotation) {
    const { approver } = rotation;
    const [from, to] = [address(rotation.from), address(rotation.to)];
    const [pipeline] = pipelines;
    const isAlone = actions.length === 1 && pipelines.length === 1;
    if (!isAlone || !pipeline || !bytesEqual(pipeline.vaultMessage, encodeReplacement({ approver, from, to }))) {
      throw new DamagedRecord(`rotation ${id}`, 'its message is not the replacement of its action alone');
    }
    return { replacement: { role: approver === 'operator' ? approver : 'approver', from, to } };
  }
  const compiled = await compilePipelines(pipelines.map(toVaultPipeline), project);
  for (const [position, { vaultMessage }] of compiled.entries()) {
    const stored = pipelines[position]?.vaultMessage;
    if (!stored || !bytesEqual(stored, vaultMessage)) {
      throw new DamagedRecord(
        `pipelines[${position}] of batch ${id}`,
        'its message is not what its actions compile to',
      );
    }
  }
  const content = {
    pipelines: compiled.map(({ instructions }) =>
      instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
        programAddress,
        accounts: accounts.map(({ address }) => address),
        data,
      })),
    ),
  };
  const [unknown] = summarizeContent(content).unknown;
  if (unknown !== undefined) throw new DamagedRecord(`batch ${id}`, `no batch has the instruction ${unknown}`);
  return content;
}

/** Compiles the request of a batch again, like `compileAgain`. Returns the error if its rows do not allow it. */
export async function findContent(
  project: Pick<Project, 'token' | 'flywheel'>,
  batch: Pick<Batch, 'id' | 'kind' | 'pipelines'>,
): Promise<BatchContent | DamagedRecord> {
  try {
    return await compileAgain(project, batch);
  } catch (error) {
    if (error instanceof DamagedRecord) return error;
    throw error;
  }
}

/** Derives the kind of a batch from its actions, which its row may contradict. */
export function kindOf({ pipelines }: Pick<Batch, 'pipelines'>): BatchKind {
  const actions = pipelines.flatMap((pipeline): readonly BatchAction[] => pipeline.actions);
  if (actions.some(({ action }) => action === 'ROTATE')) return 'rotation';
  return actions.some(({ action }) => action === 'WITHDRAW') ? 'withdrawal' : 'pipelines';
}

function toVaultPipeline({ type, payload, actions }: Batch['pipelines'][number]): VaultPipeline {
  return { type, payload, actions: actions.filter((action) => action.action !== 'ROTATE') };
}
