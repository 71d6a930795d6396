import type { ApprovalMode } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { DailyTotals, FoundProject, NewProject, Project, Token } from '../../model/project.ts';
import { type Db, inTransaction } from '../db.ts';
import { insertProofTypes } from './proof-types.ts';

/** Stores everything of a registration, or nothing. */
export async function insertProject(db: Db, project: NewProject, createdAt: Date): Promise<void> {
  const { id, wallet, scopes, proofTypes, dailyLimits, approvalMode, token, flywheel } = project;
  const { multisig } = flywheel;
  await inTransaction(db, async (trx) => {
    await trx
      .insertInto('projects')
      .values({
        id,
        wallet,
        scopes: [...scopes],
        burn_limit: dailyLimits.burnBaseUnits,
        airdrop_limit: dailyLimits.airdropBaseUnits,
        approval_mode: approvalMode,
        created_at: createdAt,
      })
      .execute();
    await insertProofTypes(trx, id, [...proofTypes.values()]);
    await trx
      .insertInto('tokens')
      .values({
        id: token.id,
        project_id: id,
        mint: token.mint,
        decimals: token.decimals,
        program_address: token.programAddress,
      })
      .execute();
    await trx
      .insertInto('flywheels')
      .values({
        id: flywheel.id,
        project_id: id,
        multisig: multisig.address,
        vault: multisig.vault,
        vault_index: multisig.vaultIndex,
        operator: multisig.operator,
        recovery: multisig.recovery,
        company: multisig.company,
        wallet: multisig.wallet,
        lookup_table: multisig.lookupTable.address,
        lookup_table_addresses: [...multisig.lookupTable.addresses],
      })
      .execute();
  });
}

export async function findProject(db: Db, projectId: string): Promise<FoundProject> {
  const row = await selectWhole(db).where('projects.id', '=', projectId).executeTakeFirst();
  return row ? toProject(row) : findGonePart(db, projectId);
}

/** Finds a wallet's project; null also for another wallet's, and for one whose token or flywheel is archived. */
export async function findProjectOfWallet(db: Db, wallet: Address, projectId: string): Promise<Project | null> {
  const row = await selectWhole(db)
    .where('projects.id', '=', projectId)
    .where('projects.wallet', '=', wallet)
    .executeTakeFirst();
  return row ? toProject(row) : null;
}

/** Reads a project like `findProjectOfWallet` and locks it until the transaction ends. */
export async function lockProject(trx: Db, wallet: Address, projectId: string): Promise<Project | null> {
  await trx.selectFrom('projects').select('id').where('id', '=', projectId).forNoKeyUpdate().execute();
  return findProjectOfWallet(trx, wallet, projectId);
}

export async function updateDailyLimits(
  trx: Db,
  projectId: string,
  { burnBaseUnits, airdropBaseUnits }: DailyTotals,
): Promise<void> {
  await trx
    .updateTable('projects')
    .set({ burn_limit: burnBaseUnits, airdrop_limit: airdropBaseUnits })
    .where('id', '=', projectId)
    .execute();
}

export async function updateApprovalMode(trx: Db, projectId: string, approvalMode: ApprovalMode): Promise<void> {
  await trx.updateTable('projects').set({ approval_mode: approvalMode }).where('id', '=', projectId).execute();
}

/**
 * Finds a project, also if its token or flywheel is archived, because a started batch must end.
 * @throws Error if this database has at most copies of its batches
 */
export async function requireProject(db: Db, projectId: string): Promise<Project> {
  const project = await findProjectIfHere(db, projectId);
  if (project === null) throw new Error(`Project ${projectId} is not in this database.`);
  return project;
}

/** Finds a project, also if its token or flywheel is archived; null if this database has at most copies of its batches. */
export async function findProjectIfHere(db: Db, projectId: string): Promise<Project | null> {
  const row = await select(db).where('projects.id', '=', projectId).executeTakeFirst();
  return row ? toProject(row) : null;
}

/** Selects what `toProject` reads, of projects whose token and flywheel are not archived. */
export function selectWhole(db: Db) {
  return select(db).where('tokens.archived_at', 'is', null).where('flywheels.archived_at', 'is', null);
}

function select(db: Db) {
  return db
    .selectFrom('projects')
    .innerJoin('tokens', 'tokens.project_id', 'projects.id')
    .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
    .leftJoin('company_admissions', 'company_admissions.multisig', 'flywheels.multisig')
    .select([
      'projects.id',
      'projects.wallet',
      'projects.scopes',
      'burn_limit',
      'airdrop_limit',
      'approval_mode',
      'admitted_at',
    ])
    .select(['tokens.id as token_id', 'mint', 'decimals', 'program_address'])
    .select([
      'flywheels.id as flywheel_id',
      'flywheels.multisig',
      'vault',
      'vault_index',
      'operator',
      'recovery',
      'company',
      'lost_operator',
    ])
    .select(['flywheels.wallet as member_wallet', 'lookup_table', 'lookup_table_addresses']);
}

type Row = Awaited<ReturnType<ReturnType<typeof select>['executeTakeFirstOrThrow']>>;

export function toProject(row: Row): Project {
  return {
    id: row.id,
    wallet: row.wallet,
    scopes: new Set(row.scopes),
    dailyLimits: { burnBaseUnits: row.burn_limit, airdropBaseUnits: row.airdrop_limit },
    approvalMode: row.approval_mode,
    isAdmitted: row.admitted_at !== null,
    token: { id: row.token_id, mint: row.mint, decimals: row.decimals, programAddress: row.program_address },
    flywheel: {
      id: row.flywheel_id,
      multisig: {
        address: row.multisig,
        vault: row.vault,
        vaultIndex: row.vault_index,
        operator: row.operator,
        rentCollector: row.lost_operator ?? row.operator,
        recovery: row.recovery,
        company: row.company,
        wallet: row.member_wallet,
        lookupTable: { address: row.lookup_table, addresses: row.lookup_table_addresses },
      },
    },
  };
}

async function findGonePart(db: Db, projectId: string): Promise<Exclude<FoundProject, Project>> {
  const row = await db
    .selectFrom('projects')
    .leftJoin('tokens', (join) => join.onRef('tokens.project_id', '=', 'projects.id').on('archived_at', 'is', null))
    .select('tokens.id as token_id')
    .where('projects.id', '=', projectId)
    .executeTakeFirst();
  if (!row) return null;
  return row.token_id === null ? 'token-gone' : 'flywheel-gone';
}

export interface KnownVault {
  readonly vault: Address;
  readonly projectId: string;
  readonly token: Token;
}

/** Finds which addresses are vaults of projects, whatever the state of the projects; with their current token. */
export async function findVaults(db: Db, addresses: readonly Address[]): Promise<KnownVault[]> {
  if (addresses.length === 0) return [];
  const rows = await db
    .selectFrom('flywheels')
    .innerJoin('tokens', 'tokens.project_id', 'flywheels.project_id')
    .select([
      'flywheels.vault',
      'flywheels.project_id',
      'tokens.id',
      'tokens.mint',
      'tokens.decimals',
      'tokens.program_address',
    ])
    .where('flywheels.vault', 'in', [...addresses])
    .orderBy((eb) => eb('tokens.archived_at', 'is', null), 'desc')
    .execute();
  return rows.map(({ vault, project_id, id, mint, decimals, program_address }) => ({
    vault,
    projectId: project_id,
    token: { id, mint, decimals, programAddress: program_address },
  }));
}

/** A project as a list shows it. */
export interface ProjectSummaryRecord {
  readonly id: string;
  readonly wallet: Address;
  readonly token: Token;
  readonly vault: Address;
  readonly approvalMode: ApprovalMode;
  /** Paused alone or with all others. */
  readonly isPaused: boolean;
  /** Start of its own pause. */
  readonly pausedAt: Date | null;
  readonly pauseReason: string | null;
  readonly isAdmitted: boolean;
  readonly openBatches: number;
  readonly createdAt: Date;
}

/** Lists projects, newest first: all, a wallet's, or one. Those whose token or flywheel is archived are omitted. */
export async function findProjectSummaries(
  db: Db,
  { wallet, projectId }: { readonly wallet?: Address; readonly projectId?: string },
): Promise<ProjectSummaryRecord[]> {
  let query = db
    .selectFrom('projects')
    .innerJoin('tokens', 'tokens.project_id', 'projects.id')
    .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
    .leftJoin('company_admissions', 'company_admissions.multisig', 'flywheels.multisig')
    .crossJoin('company')
    .select([
      'admitted_at',
      'projects.id',
      'projects.wallet',
      'approval_mode',
      'created_at',
      'vault',
      'projects.paused_at',
    ])
    .select(['tokens.id as token_id', 'mint', 'decimals', 'program_address'])
    .select((eb) => [
      eb.or([eb('projects.paused_at', 'is not', null), eb('company.paused_at', 'is not', null)]).as('is_paused'),
      // The project's own reason counts only while the project itself is paused.
      sql<
        string | null
      >`case when projects.paused_at is null then company.pause_reason else projects.pause_reason end`.as(
        'pause_reason',
      ),
      eb
        .selectFrom('batches')
        .select(({ fn }) => fn.countAll<bigint>().as('count'))
        .whereRef('batches.project_id', '=', 'projects.id')
        .where('ended_at', 'is', null)
        .as('open_batches'),
    ])
    .where('tokens.archived_at', 'is', null)
    .where('flywheels.archived_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('projects.id');
  if (wallet !== undefined) query = query.where('projects.wallet', '=', wallet);
  if (projectId !== undefined) query = query.where('projects.id', '=', projectId);
  return (await query.execute()).map((row) => ({
    id: row.id,
    wallet: row.wallet,
    token: { id: row.token_id, mint: row.mint, decimals: row.decimals, programAddress: row.program_address },
    vault: row.vault,
    approvalMode: row.approval_mode,
    isPaused: Boolean(row.is_paused),
    pausedAt: row.paused_at,
    pauseReason: row.pause_reason,
    isAdmitted: row.admitted_at !== null,
    openBatches: Number(row.open_batches ?? 0n),
    createdAt: row.created_at,
  }));
}
