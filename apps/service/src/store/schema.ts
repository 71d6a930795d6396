import type {
  ApprovalMode,
  AuditAction,
  BatchEventDetails,
  BatchEventType,
  BatchKind,
  BatchStatus,
  EndCause,
  ExecuteResult,
  InitResult,
  InitWarning,
  RegistrationRequest,
  Scope,
} from '@flywheel/api';
import type { AccountMeta, Address, Base64EncodedWireTransaction, Nonce } from '@solana/kit';
import type { ColumnType, Generated } from 'kysely';
import type { BatchAction, Bundle, ExecutionIssue } from '../model/batch.ts';
import type { Multisig, Token } from '../model/project.ts';
import type { CompanyTables } from './company/tables.ts';
import type { ShardTables } from './shards/tables.ts';
import type { RecordedAt, WebhookTables } from './webhooks/tables.ts';

/** The tables as migrations/ leaves them. */
export interface Schema extends CompanyTables, ShardTables, WebhookTables {
  projects: ProjectsTable;
  proof_types: ProofTypesTable;
  tokens: TokensTable;
  flywheels: FlywheelsTable;
  api_keys: ApiKeysTable;
  batches: BatchesTable;
  pipelines: PipelinesTable;
  batch_archives: BatchArchivesTable;
  daily_amounts: DailyAmountsTable;
  daily_spending: DailySpendingTable;
  bundles: BundlesTable;
  ledger_entries: LedgerEntriesTable;
  created_token_accounts: CreatedTokenAccountsTable;
  held_recipients: HeldRecipientsTable;
  non_wallets: NonWalletsTable;
  nonces: NoncesTable;
  nonce_waiters: NonceWaitersTable;
  registrations: RegistrationsTable;
  sign_in_challenges: SignInChallengesTable;
  sessions: SessionsTable;
  rate_limits: RateLimitsTable;
  audit_log: AuditLogTable;
  batch_events: BatchEventsTable;
  vault_balance_checks: VaultBalanceChecksTable;
  schema_compatibility: SchemaCompatibilityTable;
}

/** Written as text: the driver would take an array for a PostgreSQL array. */
type Json<T> = ColumnType<T, string, string>;
type JsonOrNull<T> = ColumnType<T | null, string | null, string | null>;

interface ProjectsTable {
  id: string;
  wallet: Address;
  scopes: Scope[];
  burn_limit: bigint;
  airdrop_limit: bigint;
  approval_mode: Generated<ApprovalMode>;
  paused_at: Date | null;
  pause_reason: string | null;
  created_at: Date;
  /** Until then it takes no new work, because it moves to another shard; null, or past, for one that does not move. */
  moving_until: Date | null;
}

interface ProofTypesTable {
  project_id: string;
  type: string;
  description: string | null;
  payload_schema: JsonOrNull<Record<string, unknown>>;
}

interface TokensTable {
  id: string;
  project_id: string;
  mint: Address;
  decimals: number;
  program_address: Address;
  archived_at: Date | null;
}

interface FlywheelsTable {
  id: string;
  project_id: string;
  multisig: Address;
  vault: Address;
  vault_index: number;
  operator: Address;
  recovery: Address | null;
  /** The member that `operator`, the recovery key, acts for until a rotation removes it; null if none is lost. */
  lost_operator: Address | null;
  company: Address;
  wallet: Address;
  lookup_table: Address;
  lookup_table_addresses: Address[];
  last_batch_index: Generated<bigint>;
  /** The newest deciding run; an older release counts every run here. */
  run_number: Generated<bigint>;
  setup_run_number: Generated<bigint>;
  /** The value of `run_number` that a release with lanes wrote last. */
  deciding_run_number: Generated<bigint>;
  /** When a worker began its last job for the project; null before the first one. */
  served_at: Date | null;
  archived_at: Date | null;
}

interface ApiKeysTable {
  id: string;
  project_id: string;
  prefix: string;
  hash: Uint8Array;
  name: string | null;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  replaced_by: string | null;
}

export interface BatchesTable {
  id: string;
  project_id: string;
  flywheel_id: string;
  token_id: string;
  kind: Generated<BatchKind>;
  batch_index: bigint;
  status: BatchStatus;
  idempotency_key: string;
  request_hash: Uint8Array;
  pipeline_count: number;
  burn_amount: bigint;
  airdrop_amount: bigint;
  reserved_day: string;
  nonce_address: Address;
  nonce_value: Nonce;
  signed_tx: Base64EncodedWireTransaction | null;
  execution_began_at: Date | null;
  warnings: Json<InitWarning[]>;
  init_result: JsonOrNull<InitResult>;
  execute_result: JsonOrNull<ExecuteResult>;
  execution_error: JsonOrNull<ExecutionIssue>;
  created_at: Date;
  updated_at: Date;
  ended_at: Date | null;
  closed_at: Date | null;
  end_finalized_at: Date | null;
  company_asked_at: Date | null;
  company_decided_at: Date | null;
  company_operator: Address | null;
  /** Reason of a rejection; null for an approval. */
  company_reason: string | null;
  /** Distinct types of its pipelines in order, at most five. */
  types: Generated<string[]>;
  burn_count: Generated<number>;
  airdrop_count: Generated<number>;
  memo_count: Generated<number>;
  finalized_at: Date | null;
  /** Time at which the approval in `signed_tx` arrived. */
  signed_at: Date | null;
  end_cause: EndCause | null;
  /** The API key that created it; null for the console. */
  key_id: string | null;
  /** Rent of its accounts and its nonce; 0 once nothing of it is left on chain. */
  locked_lamports: Generated<bigint>;
  /** What its fees and tips may still take. */
  reserved_lamports: Generated<bigint>;
  /** True if its contents are in `batch_archives`. */
  is_packed: Generated<boolean>;
}

export interface PipelinesTable {
  batch_id: string;
  position: number;
  project_id: string;
  type: string;
  /** This and the other contents are null after the batch was packed: `batch_archives` has them. */
  payload: string | null;
  actions: JsonOrNull<BatchAction[]>;
  proof_hash: Uint8Array;
  instructions: JsonOrNull<StoredInstruction[]>;
  vault_message: Uint8Array | null;
}

/** The contents that were taken out of the rows of old batches, in arrays that the database compresses. */
interface BatchArchivesTable {
  batch_id: string;
  /** An element for each pipeline, in order; so have the other arrays but the last. */
  types: string[];
  payloads: string[];
  /** JSON. */
  actions: string[];
  /** JSON. */
  instructions: string[];
  vault_messages: Uint8Array[];
  /** Those of all bundles, in the order in which they were sent. */
  transactions: Uint8Array[];
}

/** Stores addresses as text: converting thousands of them to bytes and back would take longer than everything else. */
export interface StoredInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly AccountMeta[];
  readonly dataBase64: string;
}

interface DailyAmountsTable {
  project_id: string;
  day: string;
  burned: Generated<bigint>;
  airdropped: Generated<bigint>;
}

/** Fees and tips of batches, on the day on which they were recorded. */
interface DailySpendingTable {
  project_id: string;
  /** null for the console. */
  key_id: string | null;
  day: string;
  lamports: bigint;
}

export interface BundlesTable {
  id: Generated<bigint>;
  batch_id: string;
  phase: Bundle['phase'];
  bundle_id: string;
  /** null after the batch was packed. */
  transactions: Base64EncodedWireTransaction[] | null;
  signatures: string[];
  last_valid_block_height: bigint;
  first_pipeline: number;
  pipeline_counts: number[];
  is_atomic: boolean;
  tip_lamports: bigint;
  state: Bundle['state'];
  landed_signatures: string[];
  landed_slot: bigint | null;
  created_at: Date;
  settled_at: Date | null;
}

interface LedgerEntriesTable {
  id: Generated<bigint>;
  signature: string;
  batch_id: string;
  phase: Bundle['phase'];
  fee_lamports: bigint;
  tip_lamports: bigint;
  rent_out_lamports: bigint;
  rent_back_lamports: bigint;
  vault_rent_lamports: bigint;
}

interface CreatedTokenAccountsTable {
  batch_id: string;
  token_account: Address;
  project_id: string;
  created_at: Date | null;
}

interface HeldRecipientsTable {
  project_id: string;
  address: Address;
  batch_id: string;
  reason: string;
  held_at: Date;
}

export interface NonWalletsTable {
  address: Address;
  kind: 'mint' | 'token account' | 'program';
  seen_at: Date;
}

interface NoncesTable {
  address: Address;
  /** The operator that may advance it; null for one that an earlier release created and no worker has seen yet. */
  authority: Address | null;
  seed: string;
  value: Nonce | null;
  read_slot: Generated<bigint>;
  batch_id: string | null;
  state: 'creating' | 'available' | 'leased' | 'refreshing' | 'closing';
  /** The multisig of the admitted project that alone may lease it; null for all projects. */
  share: Generated<Address | null>;
  leased_at: Generated<Date | null>;
  /** False until the creation of the account is finalized: a fork may take it away. */
  is_finalized: Generated<boolean>;
}

/** Inits that wait for a nonce. A process that dies leaves its rows, so only those of the last seconds count. */
interface NonceWaitersTable {
  process: string;
  multisig: Address;
  waiting: number;
  updated_at: Generated<Date>;
}

interface RegistrationsTable {
  id: string;
  wallet: Address;
  request: Json<RegistrationRequest>;
  token: Json<Token>;
  multisig: Json<Multisig>;
  network: string | null;
  create_key: Address;
  message: Uint8Array;
  last_valid_block_height: bigint;
  created_at: Date;
  project_id: string | null;
}

interface SignInChallengesTable {
  nonce: string;
  wallet: string;
  message: string;
  expires_at: Date;
}

interface SessionsTable {
  hash: Uint8Array;
  wallet: string;
  expires_at: Date;
}

interface RateLimitsTable {
  /** Name of the limit, a colon, and whom it counts. */
  key: string;
  points: number;
  /** End of the window, in milliseconds since 1970. */
  expire: bigint;
}

interface BatchEventsTable {
  id: Generated<bigint>;
  batch_id: string;
  type: BatchEventType;
  at: Date;
  status: BatchStatus;
  data: Json<BatchEventDetails>;
  recorded_at: RecordedAt;
}

interface AuditLogTable {
  id: Generated<bigint>;
  at: Date;
  actor: Address;
  action: AuditAction;
  project_id: string | null;
  batch_id: string | null;
  subject: string | null;
  before: JsonOrNull<unknown>;
  after: JsonOrNull<unknown>;
  reason: string | null;
}

interface VaultBalanceChecksTable {
  project_id: string;
  /** null: no check is scheduled. */
  next_check_at: Date | null;
  /** When `vault.low` was last emitted; null once the vault holds enough. */
  notified_at: Date | null;
}

/** One row, which only migrations write. */
interface SchemaCompatibilityTable {
  only_row: Generated<boolean>;
  /** A release works with the schema if it has this migration. */
  required_migration: string;
}
