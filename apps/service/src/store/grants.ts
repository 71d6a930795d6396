import { TABLES_OF_LIBRARIES } from './library-grants.ts';
import { type DatabaseRole, NONE, type Rights, type RightsOfTable } from './rights.ts';
import type { Schema } from './schema.ts';

const AUDIT_COLUMNS = [
  'at',
  'actor',
  'action',
  'project_id',
  'batch_id',
  'subject',
  'before',
  'after',
  'reason',
] as const;

/**
 * Every statement that `serve` and `work` may run, by table. `serve` writes what clients and people ask for; what is sent to
 * the chain, what was signed and what came of it is written by `work` alone. A table without a row here does not compile,
 * and a test compares the tables of the database with these.
 */
const TABLES: { readonly [T in keyof Schema]: RightsOfTable<Extract<keyof Schema[T], string>> } = {
  projects: {
    serve: {
      select: true,
      insert: ['id', 'wallet', 'scopes', 'burn_limit', 'airdrop_limit', 'approval_mode', 'created_at'],
      update: ['burn_limit', 'airdrop_limit', 'paused_at', 'pause_reason'],
    },
    // A rotation replaces the wallet; an operator's signed change the mode, or the pause.
    work: { select: true, update: ['wallet', 'approval_mode', 'paused_at', 'pause_reason'] },
  },
  proof_types: {
    serve: { select: true, insert: ['project_id', 'type', 'description', 'payload_schema'], delete: true },
    work: { select: true },
  },
  tokens: {
    serve: { select: true, insert: ['id', 'project_id', 'mint', 'decimals', 'program_address'] },
    work: { select: true },
  },
  flywheels: {
    serve: {
      select: true,
      insert: [
        ...(['id', 'project_id', 'multisig', 'vault', 'vault_index', 'operator', 'company', 'wallet'] as const),
        ...(['recovery', 'lookup_table', 'lookup_table_addresses'] as const),
      ],
      update: ['last_batch_index'],
    },
    work: {
      select: true,
      update: [
        ...(['operator', 'lost_operator', 'company', 'wallet', 'last_batch_index', 'served_at'] as const),
        ...(['run_number', 'setup_run_number', 'deciding_run_number'] as const),
      ],
    },
  },
  api_keys: {
    serve: {
      select: true,
      insert: ['id', 'project_id', 'prefix', 'hash', 'name', 'scopes', 'created_at', 'expires_at'],
      update: ['expires_at', 'revoked_at', 'last_used_at', 'replaced_by'],
    },
    work: NONE,
  },
  batches: {
    serve: {
      select: true,
      insert: [
        ...(['id', 'project_id', 'flywheel_id', 'token_id', 'kind', 'batch_index', 'status'] as const),
        ...(['idempotency_key', 'request_hash', 'pipeline_count', 'burn_amount', 'airdrop_amount'] as const),
        ...(['reserved_day', 'nonce_address', 'nonce_value', 'warnings', 'types', 'burn_count'] as const),
        ...(['airdrop_count', 'memo_count', 'created_at', 'updated_at'] as const),
        ...(['key_id', 'locked_lamports', 'reserved_lamports'] as const),
      ],
      update: [
        // A request to execute, and the company's decision, which `work` verifies.
        ...(['signed_tx', 'signed_at', 'nonce_value', 'execution_error', 'updated_at'] as const),
        ...(['company_asked_at', 'company_decided_at', 'company_operator', 'company_reason'] as const),
        // A cancellation before the execution has begun.
        ...(['status', 'ended_at', 'end_cause', 'end_finalized_at', 'init_result', 'execute_result'] as const),
      ],
    },
    work: {
      select: true,
      update: [
        ...(['status', 'init_result', 'execute_result', 'execution_error', 'execution_began_at'] as const),
        ...(['finalized_at', 'ended_at', 'end_cause', 'end_finalized_at', 'closed_at', 'updated_at'] as const),
        ...(['signed_tx', 'signed_at', 'company_asked_at', 'company_decided_at'] as const),
        ...(['company_operator', 'company_reason'] as const),
        // What it has locked and may still spend, as the chain shows it.
        ...(['locked_lamports', 'reserved_lamports'] as const),
      ],
    },
  },
  pipelines: {
    serve: {
      select: true,
      insert: [
        ...(['batch_id', 'position', 'project_id', 'type', 'payload', 'actions', 'proof_hash'] as const),
        ...(['instructions', 'vault_message'] as const),
      ],
    },
    work: { select: true },
  },
  // Written by the function `pack_batch` alone.
  batch_archives: { serve: { select: true }, work: { select: true } },
  daily_amounts: {
    serve: { select: true, insert: ['project_id', 'day'], update: ['burned', 'airdropped'] },
    work: { select: true, update: ['burned', 'airdropped'] },
  },
  daily_spending: {
    serve: { select: true },
    work: { select: true, insert: ['project_id', 'key_id', 'day', 'lamports'], update: ['lamports'] },
  },
  bundles: {
    serve: { select: true },
    work: {
      select: true,
      insert: [
        ...(['batch_id', 'phase', 'bundle_id', 'transactions', 'signatures', 'last_valid_block_height'] as const),
        ...(['first_pipeline', 'pipeline_counts', 'is_atomic', 'tip_lamports', 'state'] as const),
        ...(['landed_signatures', 'created_at'] as const),
      ],
      update: ['state', 'landed_signatures', 'landed_slot', 'settled_at'],
    },
  },
  ledger_entries: {
    serve: { select: true },
    work: {
      select: true,
      insert: [
        ...(['signature', 'batch_id', 'phase', 'fee_lamports', 'tip_lamports', 'rent_out_lamports'] as const),
        ...(['rent_back_lamports', 'vault_rent_lamports'] as const),
      ],
    },
  },
  created_token_accounts: {
    serve: { select: true },
    work: {
      select: true,
      insert: ['batch_id', 'token_account', 'project_id'],
      update: ['created_at'],
      delete: true,
    },
  },
  held_recipients: {
    serve: {
      select: true,
      insert: ['project_id', 'address', 'batch_id', 'reason', 'held_at'],
      update: ['batch_id', 'reason', 'held_at'],
    },
    work: {
      select: true,
      insert: ['project_id', 'address', 'batch_id', 'reason', 'held_at'],
      update: ['batch_id', 'reason', 'held_at'],
      delete: true,
    },
  },
  non_wallets: {
    serve: { select: true, insert: ['address', 'kind', 'seen_at'], delete: true },
    work: { select: true, insert: ['address', 'kind', 'seen_at'], delete: true },
  },
  nonces: {
    // Init leases a nonce, a cancellation returns it, and an approval is built again on its present value.
    serve: { select: true, update: ['state', 'batch_id', 'value', 'read_slot', 'leased_at'] },
    work: {
      select: true,
      insert: ['address', 'authority', 'seed', 'value', 'state', 'share'],
      update: ['state', 'batch_id', 'value', 'read_slot', 'authority', 'share', 'is_finalized'],
      delete: true,
    },
  },
  nonce_waiters: {
    serve: { select: true, insert: ['process', 'multisig', 'waiting'], delete: true },
    work: { select: true },
  },
  registrations: {
    serve: {
      select: true,
      insert: [
        ...(['id', 'wallet', 'request', 'token', 'multisig', 'create_key', 'message'] as const),
        ...(['last_valid_block_height', 'network', 'created_at'] as const),
      ],
      update: ['project_id'],
      delete: true,
    },
    work: NONE,
  },
  sign_in_challenges: {
    serve: { select: true, insert: ['nonce', 'wallet', 'message', 'expires_at'], delete: true },
    work: NONE,
  },
  rate_limits: {
    serve: { select: true, insert: ['key', 'points', 'expire'], update: ['points', 'expire'], delete: true },
    work: NONE,
  },
  sessions: {
    serve: { select: true, insert: ['hash', 'wallet', 'expires_at'], delete: true },
    work: NONE,
  },
  company: {
    serve: { select: true, update: ['paused_at', 'pause_reason'] },
    work: { select: true, update: ['paused_at', 'pause_reason'] },
  },
  company_decisions: {
    serve: {
      select: true,
      insert: [
        ...(['batch_id', 'decision', 'reason', 'operator', 'nonce', 'expires_at', 'signed_message'] as const),
        ...(['signature', 'decided_at'] as const),
      ],
    },
    work: { select: true },
  },
  company_changes: {
    serve: {
      select: true,
      insert: [
        ...(['project_id', 'paused_at', 'admission', 'policy', 'policy_version'] as const),
        ...(['from_approval_mode', 'from_burn_limit', 'from_airdrop_limit'] as const),
        ...(['to_approval_mode', 'to_burn_limit', 'to_airdrop_limit', 'operator', 'nonce', 'expires_at'] as const),
        ...(['signed_message', 'signature', 'requested_at'] as const),
      ],
    },
    work: { select: true },
  },
  company_reviews: {
    serve: { select: true },
    work: { select: true, insert: ['change_id', 'nonce', 'issue', 'reviewed_at'] },
  },
  company_terms: {
    serve: { select: true },
    work: {
      select: true,
      insert: ['multisig', 'mint', 'approval_mode', 'burn_limit', 'airdrop_limit'],
      update: ['mint', 'approval_mode', 'burn_limit', 'airdrop_limit', 'is_signed'],
    },
  },
  company_pauses: {
    serve: NONE,
    work: { select: true, insert: ['multisig', 'paused_at'], update: ['paused_at'], delete: true },
  },
  company_totals: {
    serve: NONE,
    work: { select: true, insert: ['multisig', 'batch_index', 'day'], update: ['burned', 'airdropped'] },
  },
  company_rejections: {
    serve: NONE,
    work: { select: true, insert: ['multisig', 'batch_index', 'reason'] },
  },
  company_admissions: {
    serve: { select: true },
    work: { select: true, insert: ['multisig', 'admitted_at'], delete: true },
  },
  company_policies: {
    serve: { select: true },
    work: { select: true, insert: ['multisig', 'version', 'mint', 'policy', 'operator', 'applied_at'] },
  },
  company_uses: {
    serve: { select: true },
    work: {
      select: true,
      insert: ['multisig', 'batch_index', 'day', 'kind', 'subject', 'amount'],
      delete: true,
    },
  },
  policy_uses: {
    // Init counts a batch, and a cancellation gives back what was not executed.
    serve: {
      select: true,
      insert: ['batch_id', 'project_id', 'day', 'kind', 'subject', 'amount', 'is_read'],
      update: ['amount', 'is_read'],
    },
    // A worker counts the earlier batches of the day when it applies a cap, and deletes old rows.
    work: {
      select: true,
      insert: ['batch_id', 'project_id', 'day', 'kind', 'subject', 'amount', 'is_read'],
      update: ['amount', 'is_read'],
      delete: true,
    },
  },
  policy_sums: {
    serve: { select: true },
    work: { select: true, delete: true },
  },
  key_successions: {
    serve: { select: true },
    work: { select: true, insert: ['genesis_hash', 'role', 'from_key', 'to_key', 'signature', 'signed_at'] },
  },
  audit_log: {
    serve: {
      select: true,
      insert: AUDIT_COLUMNS,
    },
    work: { insert: AUDIT_COLUMNS },
  },
  batch_events: {
    serve: { select: true, insert: ['batch_id', 'type', 'at', 'status', 'data'] },
    work: { select: true, insert: ['batch_id', 'type', 'at', 'status', 'data'] },
  },
  webhook_endpoints: {
    serve: {
      select: true,
      insert: ['id', 'project_id', 'url', 'events', 'created_at'],
      update: ['url', 'events', 'state', 'disabled_reason', 'secret_version', 'previous_secret_until'],
      delete: true,
    },
    work: { select: true, update: ['last_attempt_at', 'state', 'disabled_reason'] },
  },
  webhook_deliveries: {
    serve: {
      select: true,
      insert: ['endpoint_id', 'event_id', 'type', 'payload', 'next_attempt_at', 'created_at'],
      update: ['state', 'tries', 'next_attempt_at', 'lease', 'leased_until', 'delivered_at'],
    },
    work: {
      select: true,
      insert: ['endpoint_id', 'event_id', 'type', 'payload', 'next_attempt_at', 'created_at'],
      update: [
        ...(['state', 'attempts', 'tries', 'next_attempt_at', 'lease', 'leased_until', 'last_attempt_at'] as const),
        ...(['last_status', 'last_error', 'last_response', 'delivered_at', 'recorded_at'] as const),
      ],
    },
  },
  vault_balance_checks: {
    serve: { select: true, insert: ['project_id', 'next_check_at'], update: ['next_check_at'] },
    work: { select: true, insert: ['project_id', 'next_check_at'], update: ['next_check_at', 'notified_at'] },
  },
  // A process that may not migrate checks at its start that it works with the schema.
  schema_compatibility: { serve: { select: true }, work: { select: true } },
  // Moves are made by the owner's login. The others see which projects have left.
  project_moves: { serve: { select: true }, work: { select: true } },
  shard_identity: { serve: NONE, work: NONE },
  departed_rows: { serve: NONE, work: NONE },
  project_arrivals: { serve: NONE, work: NONE },
  // A trigger with the rights of the tables' owner writes it.
  flywheel_owners: { serve: NONE, work: NONE },
  worker_keys: { serve: NONE, work: { insert: ['role', 'address'], delete: true } },
};

/** Functions that do for a role what only the tables' owner may do otherwise (migrations 0032, 0041, 0042, 0046). */
const FUNCTIONS: Readonly<Record<string, RightsOfTable<string>>> = {
  // Triggers run them.
  'function sum_inserted_policy_uses()': { serve: NONE, work: NONE },
  'function sum_updated_policy_uses()': { serve: NONE, work: NONE },
  'function sum_deleted_policy_uses()': { serve: NONE, work: NONE },
  'function add_partitions(timestamp with time zone)': { serve: NONE, work: { execute: true } },
  'function drop_partition(text,integer,timestamp with time zone)': { serve: NONE, work: { execute: true } },
  'function own_flywheel()': { serve: NONE, work: NONE },
  'function pack_batch(uuid,integer)': { serve: NONE, work: { execute: true } },
};

/** Rights of a role on every table and function, as a grant names it: `batches`, `jobs.queue`, `function f(text)`. */
export function rightsOf(role: DatabaseRole): ReadonlyMap<string, Rights> {
  const objects = Object.entries({ ...TABLES, ...TABLES_OF_LIBRARIES, ...FUNCTIONS });
  return new Map(objects.map(([name, rights]): [string, Rights] => [name, rights[role]]));
}
