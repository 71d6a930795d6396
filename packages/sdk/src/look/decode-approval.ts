import {
  type Address,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getU32Decoder,
  getU64Decoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { ADVANCE_NONCE, PROPOSAL_APPROVE, startsWith } from '../chain/discriminators.ts';
import { COMPUTE_BUDGET_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';

/** One thing that an approval transaction does, read from its own bytes. */
export type ApprovalStep =
  | { readonly kind: 'nonce'; readonly account: Address; readonly authority: Address }
  | { readonly kind: 'computeLimit'; readonly units: number }
  | { readonly kind: 'computePrice'; readonly microLamports: bigint }
  | { readonly kind: 'vote'; readonly proposal: Address; readonly multisig: Address; readonly member: Address }
  | { readonly kind: 'other'; readonly program: Address; readonly bytes: number };

export interface Approval {
  readonly feePayer: Address;
  /** Everybody whose signature it asks for, the fee payer first. */
  readonly signers: readonly Address[];
  readonly steps: readonly ApprovalStep[];
}

const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;

/** @throws Error when the bytes are no version 0 transaction without lookup tables. */
export function decodeApproval(proposalApproveTx: string): Approval {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(proposalApproveTx));
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version !== 0 || (message.addressTableLookups ?? []).length > 0) {
    throw new Error('An approval is a version 0 transaction without lookup tables; this is none.');
  }
  const { staticAccounts, header } = message;
  const at = (index: number | undefined) => {
    const account = index === undefined ? undefined : staticAccounts[index];
    if (account === undefined) throw new Error(`The approval names account ${index} of ${staticAccounts.length}.`);
    return account;
  };
  return {
    feePayer: at(0),
    signers: staticAccounts.slice(0, header.numSignerAccounts),
    steps: message.instructions.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) =>
      stepOf(at(programAddressIndex), accountIndices.map(at), data),
    ),
  };
}

/** What the approval costs its fee payer, lamports. */
export function approvalFee({ signers, steps }: Approval): bigint {
  let [units, price] = [0n, 0n];
  for (const step of steps) {
    if (step.kind === 'computeLimit') units = BigInt(step.units);
    if (step.kind === 'computePrice') price = step.microLamports;
  }
  const priority = (units * price + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
  return BigInt(signers.length) * LAMPORTS_PER_SIGNATURE + priority;
}

const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;

function stepOf(program: Address, accounts: readonly Address[], data: ReadonlyUint8Array): ApprovalStep {
  const other: ApprovalStep = { kind: 'other', program, bytes: data.length };
  switch (program) {
    case SYSTEM_PROGRAM: {
      const [account, , authority] = accounts;
      const isAdvance = account && authority && data.length === 4 && startsWith(data, ADVANCE_NONCE);
      return isAdvance ? { kind: 'nonce', account, authority } : other;
    }
    case COMPUTE_BUDGET_PROGRAM:
      if (data[0] === SET_COMPUTE_UNIT_LIMIT) return { kind: 'computeLimit', units: getU32Decoder().decode(data, 1) };
      if (data[0] === SET_COMPUTE_UNIT_PRICE)
        return { kind: 'computePrice', microLamports: getU64Decoder().decode(data, 1) };
      return other;
    case SQUADS_PROGRAM: {
      const [multisig, member, proposal] = accounts;
      const isVote = multisig && member && proposal && startsWith(data, PROPOSAL_APPROVE);
      return isVote ? { kind: 'vote', multisig, member, proposal } : other;
    }
    default:
      return other;
  }
}
