import { type ProofMemo, parseProofMemo } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from '@solana-program/memo';
import type { LandedTransaction } from '../solana/landed-transaction.ts';

/** A proof memo on chain. */
export interface SignedProofMemo extends ProofMemo {
  /** The complete memo. */
  readonly text: string;
  readonly signers: readonly Address[];
}

/**
 * Finds the proof memos that a transaction wrote through the Squads program, in order. The memo program requires the
 * signature of every account it is given, and only the Squads program can sign for a vault, so each account has signed.
 */
export function proofMemosOf({ succeeded, calls }: LandedTransaction): SignedProofMemo[] {
  if (!succeeded) return [];
  return calls
    .filter(({ instruction }) => instruction.programAddress === SQUADS_PROGRAM_ADDRESS)
    .flatMap(({ inner }) => inner)
    .filter(({ programAddress }) => programAddress === LEGACY_MEMO_PROGRAM_ADDRESS_V3)
    .flatMap(({ data = [], accounts = [] }) => {
      const text = new TextDecoder().decode(Uint8Array.from(data));
      const memo = parseProofMemo(text);
      return memo === null ? [] : [{ ...memo, text, signers: accounts.map(({ address }) => address) }];
    });
}
