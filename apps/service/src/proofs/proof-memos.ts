import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from '@solana-program/memo';
import type { LandedTransaction } from '../solana/landed-transaction.ts';

/** A proof as the chain has it. */
export interface ProofMemo {
  /** `flywheel:v1:<type>:<hash>` */
  readonly text: string;
  readonly type: string;
  /** Lowercase hex. */
  readonly hash: string;
  readonly signers: readonly Address[];
}

/**
 * The proof memos that a transaction wrote through the Squads program, in order. The memo program refuses a memo unless
 * every account it is given has signed, and for a vault only the Squads program can: to be named is to have signed.
 */
export function proofMemosOf({ succeeded, calls }: LandedTransaction): ProofMemo[] {
  if (!succeeded) return [];
  return calls
    .filter(({ instruction }) => instruction.programAddress === SQUADS_PROGRAM_ADDRESS)
    .flatMap(({ inner }) => inner)
    .filter(({ programAddress }) => programAddress === LEGACY_MEMO_PROGRAM_ADDRESS_V3)
    .flatMap(({ data = [], accounts = [] }) => {
      const text = new TextDecoder().decode(Uint8Array.from(data));
      const [, type, hash] = PROOF_MEMO.exec(text) ?? [];
      if (type === undefined || hash === undefined) return [];
      return [{ text, type, hash, signers: accounts.map(({ address }) => address) }];
    });
}

/** As `compile/proof-memo.ts` writes it. */
const PROOF_MEMO = /^flywheel:v1:(.+):([0-9a-f]{64})$/s;
