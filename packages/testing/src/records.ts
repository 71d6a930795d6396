import { randomBytes, randomUUID } from 'node:crypto';
import type { Batch, CompiledPipeline } from '@flywheel/service/internal/model/batch.ts';
import type { DailyTotals, NewProject, Project } from '@flywheel/service/internal/model/project.ts';
import { endBatch } from '@flywheel/service/internal/store/batches/batches.ts';
import type { NewBundle } from '@flywheel/service/internal/store/batches/bundles.ts';
import type { Exposure } from '@flywheel/service/internal/store/batches/exposure.ts';
import { insertBatch, takeBatchIndex } from '@flywheel/service/internal/store/batches/new-batches.ts';
import { insertAdmission } from '@flywheel/service/internal/store/company/changes.ts';
import {
  type CountedColumns,
  type CountedUses,
  insertUses,
  type ProjectDay,
  toCountedColumns,
} from '@flywheel/service/internal/store/company/policy-uses.ts';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { leaseNonce } from '@flywheel/service/internal/store/nonces.ts';
import { prepare } from '@flywheel/service/internal/store/prepare.ts';
import { reserveDailyAmounts } from '@flywheel/service/internal/store/projects/daily-limits.ts';
import { insertProject } from '@flywheel/service/internal/store/projects/projects.ts';
import {
  AccountRole,
  type Address,
  type Base64EncodedWireTransaction,
  getAddressDecoder,
  getBase58Decoder,
  type Nonce,
  signature,
} from '@solana/kit';

export { endBatch };

export const NOW = new Date('2026-11-21T12:00:00.000Z');
export const DAY = '2026-11-21';

export function later(ms: number): Date {
  return new Date(NOW.getTime() + ms);
}

export function randomAddress(): Address {
  return getAddressDecoder().decode(randomBytes(32));
}

/** A project with its proof types. */
export type StoredProject = Project & NewProject;

export function newProject(changes: Partial<StoredProject> = {}): StoredProject {
  const [wallet, operator] = [randomAddress(), randomAddress()];
  return {
    id: randomUUID(),
    wallet,
    scopes: new Set(['burn', 'airdrop']),
    proofTypes: new Map(),
    dailyLimits: { burnBaseUnits: 1_000_000n, airdropBaseUnits: 1_000_000n },
    approvalMode: 'automatic',
    isAdmitted: false,
    token: { id: randomUUID(), mint: randomAddress(), decimals: 6, programAddress: randomAddress() },
    flywheel: {
      id: randomUUID(),
      multisig: {
        address: randomAddress(),
        vault: randomAddress(),
        vaultIndex: 0,
        operator,
        rentCollector: operator,
        recovery: null,
        company: randomAddress(),
        wallet,
        lookupTable: { address: randomAddress(), addresses: [randomAddress(), randomAddress()] },
      },
    },
    ...changes,
  };
}

export async function storeProject(db: Db, changes: Partial<StoredProject> = {}): Promise<Project> {
  const { proofTypes, ...project } = newProject(changes);
  await insertProject(db, { ...project, proofTypes }, NOW);
  if (project.isAdmitted) await insertAdmission(db, project.flywheel.multisig.address, NOW);
  return project;
}

/** Records that the workers of a shard hold the keys of a project. */
export async function storeWorkerKeys(db: Db, { flywheel }: Pick<Project, 'flywheel'>): Promise<void> {
  const { operator, company } = flywheel.multisig;
  await db
    .insertInto('worker_keys')
    .values([
      { role: 'operator', address: operator },
      { role: 'company', address: company },
    ])
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Stores `count` nonces that any flywheel can lease, as processes before migration 0015 did. */
export async function storeNonces(db: Db, count: number): Promise<void> {
  const rows = Array.from({ length: count }, () => ({
    address: randomAddress(),
    seed: randomUUID(),
    value: randomNonce(),
    state: 'available' as const,
    batch_id: null,
    authority: null,
    is_finalized: true,
  }));
  await db.insertInto('nonces').values(rows).execute();
}

/** Slots of a read that no other read was before. */
export const ANY_SLOTS = { from: 0n, to: 0n } as const;

export function randomNonce(): Nonce {
  return randomAddress() as string as Nonce; // a nonce's value is 32 bytes of base58 too
}

export function newPipeline(changes: Partial<CompiledPipeline> = {}): CompiledPipeline {
  return {
    type: 'WATCH_AD',
    payload: '{"adId":"123"}',
    actions: [{ action: 'BURN', amount: 1.5 }],
    instructions: [
      {
        programAddress: randomAddress(),
        accounts: [
          { address: randomAddress(), role: AccountRole.WRITABLE },
          { address: randomAddress(), role: AccountRole.READONLY_SIGNER },
        ],
        data: new Uint8Array(randomBytes(9)),
      },
    ],
    vaultMessage: new Uint8Array(randomBytes(200)),
    ...changes,
  };
}

export interface BatchOptions {
  readonly kind?: Batch['kind'];
  readonly pipelines?: readonly CompiledPipeline[];
  readonly totals?: DailyTotals;
  readonly idempotencyKey?: string;
  readonly keyId?: string;
  /** Nothing by default. */
  readonly exposure?: Exposure;
  readonly createdAt?: Date;
  readonly day?: string;
}

export const NO_EXPOSURE: Exposure = { lockedLamports: 0n, spendLamports: 0n };

/** Stores a batch as init does, with a nonce created for it. */
export async function storeBatch(db: Db, project: Project, options: BatchOptions = {}): Promise<Batch> {
  const { totals = RESERVED, createdAt = NOW, day = DAY } = options;
  const id = randomUUID();
  return db.transaction().execute(async (trx) => {
    const { batchIndex } = await takeBatchIndex(trx, project.flywheel.id);
    await reserveDailyAmounts(trx, project, day, totals);
    const lease = await leaseNonce(trx, { batchId: id, flywheelId: project.flywheel.id });
    if (!lease) throw new Error('The test stored too few nonces.');
    const pipelines = options.pipelines ?? [newPipeline(), newPipeline()];
    const batch: Batch = {
      id,
      projectId: project.id,
      flywheelId: project.flywheel.id,
      tokenId: project.token.id,
      kind: options.kind ?? 'pipelines',
      status: 'AVAILABLE_TO_QUEUE',
      batchIndex,
      pipelines,
      pipelineCount: pipelines.length,
      nonce: lease.nonce,
      signedTx: null,
      initResult: null,
      executeResult: null,
      executionError: null,
      awaitsCompany: false,
      createdAt,
      updatedAt: createdAt,
      endedAt: null,
      endCause: null,
    };
    const requestHash = new Uint8Array(randomBytes(32));
    const { idempotencyKey = randomUUID(), keyId = null, exposure = NO_EXPOSURE } = options;
    await insertBatch(trx, batch, { idempotencyKey, requestHash, keyId }, { day, totals, exposure, counted: null }, []);
    return batch;
  });
}

/** Counts uses of the company's caps as init does with a batch. */
export async function storeUses(
  db: Db,
  { batchId, projectId, day }: ProjectDay & { readonly batchId: string },
  counted: CountedUses,
): Promise<void> {
  await countUses(db, { id: batchId, project_id: projectId, reserved_day: day, ...toCountedColumns(counted) });
}

type CountedBatch = Readonly<Record<'id' | 'project_id' | 'reserved_day', string>> & CountedColumns;

const countUses = prepare<CountedBatch, never>((_db, slot) => insertUses(slot));

/** Amounts that a batch reserves by default. */
export const RESERVED: DailyTotals = { burnBaseUnits: 10n, airdropBaseUnits: 20n };
export const SIGNED_TX = 'c2lnbmVk' as Base64EncodedWireTransaction;

export const SIGNATURES = [1, 2].map((byte) => signature(getBase58Decoder().decode(new Uint8Array(64).fill(byte))));

export function newBundle({ id: batchId }: Batch, changes: Partial<NewBundle> = {}): NewBundle {
  return {
    batchId,
    phase: 'setup',
    bundleId: randomBytes(32).toString('hex'),
    transactions: [SIGNED_TX, SIGNED_TX],
    signatures: SIGNATURES,
    lastValidBlockHeight: 2n ** 60n,
    firstPipeline: 0,
    pipelineCounts: [],
    isAtomic: true,
    tipLamports: 1_000n,
    createdAt: NOW,
    ...changes,
  };
}
