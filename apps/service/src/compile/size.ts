import { ApiError } from '@flywheel/api';
import type { VaultPipeline } from '../model/batch.ts';

/**
 * The serialized vault message that a lone v0 `batchAddTransaction` of 1,232 bytes holds, with the project's lookup table
 * and a compute limit and price. The same on every cluster, whatever transactions it takes.
 */
export const MAX_VAULT_MESSAGE_BYTES = 856;

/** Instructions that one transaction may run, inner ones included (Agave, `max_instruction_trace_length`). */
export const MAX_INSTRUCTION_TRACE = 64;

/**
 * Refuses a pipeline that would run more instructions than one transaction may, counting every airdrop as if it had to
 * create the token account the longest way.
 * @throws ApiError ERR_FLYWHEEL_PIPELINE_TOO_BIG.
 */
export function checkTrace(pipeline: Pick<VaultPipeline, 'actions'>, position: number): void {
  const length = traceLength(pipeline);
  if (length <= MAX_INSTRUCTION_TRACE) return;
  throw new ApiError('ERR_FLYWHEEL_PIPELINE_TOO_BIG', {
    pipeline: position,
    problem: `may run ${length} instructions, inner ones included; one transaction runs ${MAX_INSTRUCTION_TRACE}.`,
  });
}

/** @throws ApiError ERR_FLYWHEEL_PIPELINE_TOO_BIG. */
export function checkBytes(vaultMessageBytes: number, position: number): void {
  if (vaultMessageBytes <= MAX_VAULT_MESSAGE_BYTES) return;
  throw new ApiError('ERR_FLYWHEEL_PIPELINE_TOO_BIG', {
    pipeline: position,
    problem: `needs ${vaultMessageBytes} bytes; one transaction holds ${MAX_VAULT_MESSAGE_BYTES}.`,
  });
}

/**
 * A compute limit, a compute price, a heap frame and a tip beside `batchExecuteTransaction`; the proof memo inside it.
 */
const TRACE_BEFORE_ACTIONS = 6;
/** The creation and the transfer. */
const TRACE_PER_TRANSFER = 2;
/**
 * What creating an associated token account runs inside (spl-associated-token-account): GetAccountDataSize, then a system
 * CreateAccount, or Transfer, Allocate and Assign where somebody has sent lamports to the address before;
 * InitializeImmutableOwner, InitializeAccount3.
 */
const TRACE_PER_CREATION = 6;

function traceLength({ actions }: Pick<VaultPipeline, 'actions'>): number {
  const recipients = new Set(actions.flatMap((action) => ('toAddress' in action ? [action.toAddress] : [])));
  const ownInstructions = actions.map((action) => ('toAddress' in action ? TRACE_PER_TRANSFER : 1));
  return (
    TRACE_BEFORE_ACTIONS + ownInstructions.reduce((sum, count) => sum + count, 0) + TRACE_PER_CREATION * recipients.size
  );
}
