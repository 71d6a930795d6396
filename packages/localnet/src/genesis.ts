import { createHash } from 'node:crypto';
import { addressDecoder, addressEncoder, TRANSACTION_V1_FEATURE, VOTE_PROGRAM_ADDRESS } from '@flywheel/protocol';
import {
  PROGRAM_CONFIG_DISCRIMINATOR,
  type ProgramConfigAccount,
  programConfigAddress,
  programConfigEncoder,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import { type Address, lamports } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { EpochSchedule, LiteSVM } from 'litesvm';
import { emptyAccount } from './ledger/account-journal.ts';
import { SLOTS_PER_EPOCH } from './ledger/slots.ts';

/** Content of the only ProgramConfig account of Squads v4, as on mainnet, where the creation of a multisig is free. */
const PROGRAM_CONFIG: ProgramConfigAccount = {
  authority: '8xgjL6yqGmNeMUKMBcjUug47JL2QcWY3EBrFfYeHtYFT' as Address,
  multisigCreationFee: 0n,
  treasury: '5DH2e3cJmFpyi6mk65EGFediunm4ui6BiKNUNrhWtD1b' as Address,
  reserved: new Uint8Array(64),
};
/** Jito's tip accounts on mainnet (docs.jito.wtf). They exist from the start, so that the smallest tip is accepted. */
export const TIP_ACCOUNTS = [
  '96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5',
  'HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe',
  'Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY',
  'ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49',
  'DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh',
  'ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt',
  'DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL',
  '3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT',
] as Address[];
const TIP_ACCOUNT_LAMPORTS = 1_000_000_000n;
/** Lamports that the cluster can give away: about the supply of mainnet. */
const BANK_LAMPORTS = 500_000_000_000_000_000n;
/** All lamports of genesis, without the rent of programs. */
export const GENESIS_LAMPORTS = BANK_LAMPORTS + TIP_ACCOUNT_LAMPORTS * BigInt(TIP_ACCOUNTS.length);
/** Size of a vote account (solana-vote-interface, VoteStateV3::size_of). */
const VOTE_ACCOUNT_BYTES = 3_762;

/**
 * Creates the initial SVM of every ledger: the programs of LiteSVM, the configuration of Squads, tip accounts, and a bank that
 * pays for airdrops.
 * @param v1 false leaves transaction version 1 inactive.
 */
export function createGenesis(bank: Address, v1 = true): LiteSVM {
  // The ledger checks signatures, blockhashes and duplicates: LiteSVM knows only one blockhash and forgets signatures.
  const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n);
  // Epochs have their full length from the first on, as getEpochSchedule says.
  svm.setEpochSchedule(new EpochSchedule(SLOTS_PER_EPOCH, SLOTS_PER_EPOCH, false, 0n, 0n));
  // Wrapped SOL, in both token programs.
  svm.withNativeMints();
  putAccount(svm, programConfigAddress(), SQUADS_PROGRAM_ADDRESS, programConfig());
  putAccount(svm, voteAccountOf(bank), VOTE_PROGRAM_ADDRESS, voteState(bank));
  if (!v1) svm.setAccount(emptyAccount(TRANSACTION_V1_FEATURE));
  for (const tipAccount of TIP_ACCOUNTS) putWallet(svm, tipAccount, TIP_ACCOUNT_LAMPORTS);
  putWallet(svm, bank, BANK_LAMPORTS);
  return svm;
}

/** An account with which a cluster starts. */
export interface GenesisAccount {
  readonly address: Address;
  readonly lamports: bigint;
  readonly owner: Address;
  readonly data: Uint8Array;
}

/** Lists the accounts that another cluster needs for the Squads program and the block engine's tips, as they are here. */
export function genesisAccounts(): GenesisAccount[] {
  const tipAccounts = TIP_ACCOUNTS.map((address) => {
    return { address, lamports: TIP_ACCOUNT_LAMPORTS, owner: SYSTEM_PROGRAM_ADDRESS, data: new Uint8Array() };
  });
  const data = programConfig();
  const config = { address: programConfigAddress(), owner: SQUADS_PROGRAM_ADDRESS, data };
  return [{ ...config, lamports: new LiteSVM().minimumBalanceForRentExemption(BigInt(data.length)) }, ...tipAccounts];
}

function programConfig(): Uint8Array {
  return Uint8Array.of(...PROGRAM_CONFIG_DISCRIMINATOR, ...programConfigEncoder.encode(PROGRAM_CONFIG));
}

/** The vote account of the cluster's one node. */
export function voteAccountOf(identity: Address): Address {
  const hash = createHash('sha256').update('vote account of').update(identity).digest();
  return addressDecoder.decode(hash);
}

/**
 * Tag 2 (VoteStateV3), node, withdrawer, commission; no votes and no root; the voter from epoch 0 on; a ring of 32 prior
 * voters, which is empty; no credits, no timestamp. Nothing votes, so it never changes.
 */
function voteState(identity: Address): Uint8Array {
  const key = Buffer.from(addressEncoder.encode(identity));
  const fields = [
    Buffer.from([2, 0, 0, 0]),
    key,
    key,
    Buffer.alloc(1 + 8 + 1), // commission, votes, root
    Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]),
    Buffer.alloc(8),
    key,
    Buffer.alloc(32 * 48 + 8),
    Buffer.from([1]),
  ];
  return Buffer.concat(fields, VOTE_ACCOUNT_BYTES);
}

function putAccount(svm: LiteSVM, address: Address, programAddress: Address, data: Uint8Array): void {
  const space = BigInt(data.length);
  const rentLamports = lamports(svm.minimumBalanceForRentExemption(space));
  svm.setAccount({ address, programAddress, lamports: rentLamports, data, executable: false, space });
}

function putWallet(svm: LiteSVM, address: Address, balanceLamports: bigint): void {
  svm.setAccount({
    address,
    programAddress: SYSTEM_PROGRAM_ADDRESS,
    lamports: lamports(balanceLamports),
    data: new Uint8Array(),
    executable: false,
    space: 0n,
  });
}
