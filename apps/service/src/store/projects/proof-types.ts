import type { ProofType } from '@flywheel/api';
import type { RawBuilder } from 'kysely';
import type { RegisteredTypes } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** Reads the proof types of a project. With their schemas they may have 768 KiB, so only what needs them reads them. */
export async function findProofTypes(db: Db, projectId: string): Promise<RegisteredTypes> {
  return toProofTypes(await selectProofTypes(db, projectId).execute());
}

/** Selects what `toProofTypes` reads. */
export function selectProofTypes(db: Db, projectId: string | RawBuilder<string>) {
  return db
    .selectFrom('proof_types')
    .select(['type', 'description', 'payload_schema'])
    .where('project_id', '=', projectId)
    .orderBy('type');
}

type Row = Awaited<ReturnType<ReturnType<typeof selectProofTypes>['executeTakeFirstOrThrow']>>;

export function toProofTypes(rows: readonly Row[]): RegisteredTypes {
  return new Map(rows.map((row) => [row.type, toProofType(row)]));
}

function toProofType({ type, description, payload_schema }: Row): ProofType {
  return {
    type,
    ...(description !== null && { description }),
    ...(payload_schema !== null && { payloadSchema: payload_schema }),
  };
}

export async function replaceProofTypes(trx: Db, projectId: string, proofTypes: readonly ProofType[]): Promise<void> {
  await trx.deleteFrom('proof_types').where('project_id', '=', projectId).execute();
  await insertProofTypes(trx, projectId, proofTypes);
}

export async function insertProofTypes(trx: Db, projectId: string, proofTypes: readonly ProofType[]): Promise<void> {
  if (proofTypes.length === 0) return;
  const rows = proofTypes.map(({ type, description, payloadSchema }) => ({
    project_id: projectId,
    type,
    description: description ?? null,
    payload_schema: payloadSchema === undefined ? null : JSON.stringify(payloadSchema),
  }));
  await trx.insertInto('proof_types').values(rows).execute();
}
