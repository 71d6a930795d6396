import type { Action } from '@flywheel/api';

/** What a pipeline may take of its transaction: docs/decisions/0018. The service’s own count is the one that decides. */
export const MAX_PIPELINE_BYTES = 856;
/** Instructions that one transaction may run, inner ones included. */
const MAX_TRACE = 64;

/** Header, the vault’s address, the lookup table and about six places of it. */
const BASE_BYTES = 6 + 32 + 34 + 6;
/** Program and counts of an instruction, and its one account. */
const MEMO_BYTES = 5;
const BURN_BYTES = 17;
/** Two addresses, the creation of the token account, the transfer. */
const AIRDROP_BYTES = 64 + 11 + 18;
/** Of `flywheel:v1:` and `:` and the hash. */
const PROOF_BYTES = 12 + 1 + 64;
const TRACE_BASE = 6;
const TRACE_PER_AIRDROP = 8;

export interface PipelineSize {
  readonly bytes: number;
  /** Of what a transaction may run. */
  readonly trace: number;
  /** The fuller of the two, 0 to 1 and beyond. */
  readonly share: number;
}

/** About what a pipeline takes of its transaction, as it is being written. */
export function pipelineSize(type: string, actions: readonly Action[]): PipelineSize {
  const utf8 = (text: string) => new TextEncoder().encode(text).length;
  let bytes = BASE_BYTES + MEMO_BYTES + PROOF_BYTES + type.length;
  let trace = TRACE_BASE;
  for (const action of actions) {
    bytes +=
      action.action === 'AIRDROP'
        ? AIRDROP_BYTES
        : action.action === 'BURN'
          ? BURN_BYTES
          : MEMO_BYTES + utf8(action.message);
    trace += action.action === 'AIRDROP' ? TRACE_PER_AIRDROP : 1;
  }
  return { bytes, trace, share: Math.max(bytes / MAX_PIPELINE_BYTES, trace / MAX_TRACE) };
}
