import { LAMPORTS_PER_SIGNATURE, priorityFeeLamports } from '@flywheel/protocol';
import { encodeUnsignedTransaction, proposalAddress } from '@flywheel/squads';
import {
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createTransactionMessage,
  type Instruction,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingDurableNonce,
} from '@solana/kit';
import type { LeasedNonce } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { locateBatch, proposalApprove } from './instructions.ts';

/** The advance, the budget and both votes take 19,057 units; the rest is room for guard instructions of wallets. */
const APPROVAL_COMPUTE_UNITS = 60_000;

/**
 * Micro-lamports per unit: 6,000 lamports in all. There must be a price, or wallets add one of their own, and with it
 * bytes and cost that we did not choose (Phantom, "priority fees").
 */
const APPROVAL_COMPUTE_UNIT_PRICE = 100_000n;

/** Lamports that the approval costs as it is built here, signatures and price. A wallet may raise the price. */
export function approvalFeeLamports({ operator, wallet, company }: Multisig): bigint {
  const signatures = BigInt(new Set([operator, wallet, company]).size);
  return signatures * LAMPORTS_PER_SIGNATURE + priorityFeeLamports(APPROVAL_COMPUTE_UNITS, APPROVAL_COMPUTE_UNIT_PRICE);
}

/**
 * Builds the transaction that the project's wallet signs: the leased nonce's advance, our compute budget, both votes. It
 * is v0 without lookup tables, so that a wallet can show all of it. It carries no signature; equal input gives equal bytes.
 */
export function approveTransaction(
  multisig: Multisig,
  batchIndex: bigint,
  nonce: LeasedNonce,
): Base64EncodedWireTransaction {
  const message = setTransactionMessageFeePayer(multisig.operator, createTransactionMessage({ version: 0 }));
  const budgeted = setTransactionMessageComputeUnitPrice(
    APPROVAL_COMPUTE_UNIT_PRICE,
    setTransactionMessageComputeUnitLimit(APPROVAL_COMPUTE_UNITS, message),
  );
  const voting = appendTransactionMessageInstructions(approvals(multisig, batchIndex), budgeted);
  // Puts the advance before everything else.
  const durable = setTransactionMessageLifetimeUsingDurableNonce(
    { nonce: nonce.value, nonceAccountAddress: nonce.address, nonceAuthorityAddress: multisig.operator },
    voting,
  );
  return encodeUnsignedTransaction(durable);
}

/** Builds the company's vote alone, for a proposal that the wallet has approved on chain by other means. */
export function companyOnlyApproval(multisig: Multisig, batchIndex: bigint): Instruction[] {
  return [proposalApprove(locateBatch(multisig, batchIndex), multisig.company)];
}

function approvals(multisig: Multisig, batchIndex: bigint): Instruction[] {
  const voted = { multisig, proposal: proposalAddress(multisig.address, batchIndex) };
  return [proposalApprove(voted, multisig.wallet), proposalApprove(voted, multisig.company)];
}
