import { proofHash } from '@flywheel/protocol';
import type { Instruction, ReadonlyUint8Array } from '@solana/kit';
import type { Selectable } from 'kysely';
import type { Batch, BatchAction, BatchWithoutPipelines, CompiledPipeline } from '../../model/batch.ts';
import { mapInSlices } from '../../model/in-slices.ts';
import { DamagedRecord } from '../damaged-record.ts';
import type { BatchesTable, StoredInstruction } from '../schema.ts';

/** Columns of a batch. */
export const BATCH_COLUMNS = [
  'id',
  'project_id',
  'flywheel_id',
  'token_id',
  'kind',
  'batch_index',
  'status',
  'pipeline_count',
  'nonce_address',
  'nonce_value',
  'signed_tx',
  'init_result',
  'execute_result',
  'execution_error',
  'company_asked_at',
  'company_decided_at',
  'created_at',
  'updated_at',
  'ended_at',
  'end_cause',
] as const satisfies readonly (keyof BatchesTable)[];

export type BatchRow = Pick<Selectable<BatchesTable>, (typeof BATCH_COLUMNS)[number]>;

export function toBatch(row: BatchRow): BatchWithoutPipelines {
  return {
    id: row.id,
    projectId: row.project_id,
    flywheelId: row.flywheel_id,
    tokenId: row.token_id,
    kind: row.kind,
    status: row.status,
    batchIndex: row.batch_index,
    pipelineCount: row.pipeline_count,
    nonce: { address: row.nonce_address, value: row.nonce_value },
    signedTx: row.signed_tx,
    initResult: row.init_result,
    executeResult: row.execute_result,
    executionError: row.execution_error,
    awaitsCompany: row.ended_at === null && row.company_asked_at !== null && row.company_decided_at === null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at,
    endCause: row.end_cause,
  };
}

/** A pipeline with its contents, from its own row or from an archive. */
export interface PipelineRow {
  readonly batch_id: string;
  readonly position: number;
  readonly type: string;
  readonly payload: string;
  readonly actions: BatchAction[];
  readonly instructions: StoredInstruction[];
  readonly vault_message: Uint8Array;
}

/** Columns of a compiled pipeline, for `contentsOf`. */
export const PIPELINE_CONTENTS = ['type', 'payload', 'actions', 'instructions', 'vault_message'] as const;

/** Columns that `toPipeline` needs of them. */
export const PIPELINE_COLUMNS = ['batch_id', 'position', ...PIPELINE_CONTENTS] as const;

/** Converts a row. @throws DamagedRecord if its JSON has another shape than the stored one. */
export function toPipeline(row: PipelineRow): CompiledPipeline {
  requireShape(row);
  return {
    type: row.type,
    payload: row.payload,
    actions: row.actions,
    instructions: row.instructions.map(toInstruction),
    vaultMessage: row.vault_message,
  };
}

/** Checks the shape of two JSON columns, whose types only state what was written. */
function requireShape({ batch_id, position, actions, instructions }: PipelineRow): void {
  const row = `pipelines[${position}] of batch ${batch_id}`;
  if (!isListOf(actions, isAction)) throw new DamagedRecord(row, 'its actions are not a list of actions');
  if (!isListOf(instructions, isStoredInstruction)) {
    throw new DamagedRecord(row, 'its instructions are not a list of instructions');
  }
}

function isListOf(value: unknown, isItem: (item: Record<string, unknown>) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null && isItem(item));
}

function isAction({ action }: Record<string, unknown>): boolean {
  return typeof action === 'string';
}

function isStoredInstruction({ programAddress, accounts, dataBase64 }: Record<string, unknown>): boolean {
  return (
    typeof programAddress === 'string' &&
    typeof dataBase64 === 'string' &&
    isListOf(accounts, ({ address, role }) => typeof address === 'string' && typeof role === 'number')
  );
}

/** A pipeline as a statement takes it. Its JSON columns are texts, because PostgreSQL reads no U+0000 inside of other JSON. */
export interface NewPipelineRow {
  readonly position: number;
  readonly type: string;
  readonly payload: string;
  readonly actions: string;
  /** Hex. */
  readonly proofHash: string;
  readonly instructions: string;
  /** Base64. */
  readonly vaultMessage: string;
}

export function toPipelineRows({ pipelines }: Batch): Promise<NewPipelineRow[]> {
  return mapInSlices(pipelines, (pipeline, position) => ({
    position,
    type: pipeline.type,
    payload: pipeline.payload,
    actions: JSON.stringify(pipeline.actions),
    proofHash: proofHash(pipeline),
    instructions: JSON.stringify(pipeline.instructions.map(toStoredInstruction)),
    vaultMessage: toBase64(pipeline.vaultMessage),
  }));
}

function toStoredInstruction({
  programAddress,
  accounts = [],
  data = new Uint8Array(),
}: Instruction): StoredInstruction {
  return {
    programAddress,
    accounts: accounts.map(({ address, role }) => ({ address, role })),
    dataBase64: toBase64(data),
  };
}

function toBase64(bytes: ReadonlyUint8Array): string {
  return Buffer.from(bytes as Uint8Array).toString('base64'); // it is only read
}

/** Converts a stored instruction. Missing accounts and data become empty, which is the same to the chain. */
function toInstruction({ programAddress, accounts, dataBase64 }: StoredInstruction): Instruction {
  return { programAddress, accounts, data: new Uint8Array(Buffer.from(dataBase64, 'base64')) };
}
