import { associatedTokenAddress, lookupTableBytes, MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import {
  type AccountBytes,
  decodeMultisig,
  getMultisigCreateV2Instruction,
  type LookupTable,
  type Member,
  multisigAddress,
  multisigBytes,
  PERMISSION,
  programConfigAddress,
  VAULT_INDEX,
  vaultAddress,
} from '@flywheel/squads';
import { type Address, createNoopSigner, type Instruction, isSome } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  findAddressLookupTablePda,
  getAddressLookupTableDecoder,
  getCreateLookupTableInstruction,
  getExtendLookupTableInstruction,
  getFreezeLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { plainInstruction } from '../model/plain-instruction.ts';
import type { Multisig, Token } from '../model/project.ts';

export interface RegistrationInput {
  /** The project approver; signs and pays. */
  readonly wallet: Address;
  /** A throwaway key that co-signs this once and gives the multisig its address. */
  readonly createKey: Address;
  readonly company: Address;
  readonly operator: Address;
  /** Acts if the operator is lost; null for none. */
  readonly recovery: Address | null;
  /** Treasury of the program's configuration (`ProgramConfigAccount`), which is paid the creation fee (zero today). */
  readonly treasury: Address;
  readonly token: Pick<Token, 'mint' | 'programAddress'>;
  /** A slot of the last 512 (SlotHashes); gives the lookup table its address. */
  readonly recentSlot: bigint;
}

/** Number of voters of a multisig, and of votes that a batch needs: both approvers must vote for it. */
export const THRESHOLD = 2;

/**
 * Builds a project's multisig and the instructions that create it: the multisig itself, then its lookup table, filled and
 * frozen, so that the entries which vault messages name by index can never change. They fit one transaction.
 */
export async function registrationInstructions(
  input: RegistrationInput,
): Promise<{ readonly instructions: readonly Instruction[]; readonly multisig: Multisig }> {
  const { wallet, company, operator, recovery, createKey, treasury, recentSlot } = input;
  const address = multisigAddress(createKey);
  const vault = vaultAddress(address, VAULT_INDEX);
  const table = await findAddressLookupTablePda({ authority: wallet, recentSlot });
  const addresses = lookupTableAddresses({ multisig: address, vault, token: input.token, lookupTable: table[0] });
  const multisig: Multisig = {
    address,
    vault,
    vaultIndex: VAULT_INDEX,
    operator,
    rentCollector: operator,
    recovery,
    company,
    wallet,
    lookupTable: { address: table[0], addresses },
  };
  const signer = createNoopSigner(wallet);
  return {
    multisig,
    instructions: [
      // Without config authority and time lock: members and threshold change only by the multisig's own vote.
      getMultisigCreateV2Instruction({
        programConfig: programConfigAddress(),
        treasury,
        multisig: address,
        createKey,
        creator: wallet,
        configAuthority: null,
        threshold: THRESHOLD,
        members: multisigMembers(multisig),
        timeLock: 0,
        rentCollector: multisig.rentCollector,
        memo: null,
      }),
      ...[
        getCreateLookupTableInstruction({ address: table, authority: wallet, payer: signer, recentSlot }),
        getExtendLookupTableInstruction({
          address: table[0],
          authority: signer,
          payer: signer,
          addresses: [...addresses],
        }),
        getFreezeLookupTableInstruction({ address: table[0], authority: signer }),
      ].map(plainInstruction),
    ],
  };
}

/** The operator and the recovery key propose and execute, and have no vote. */
export const OPERATOR_PERMISSIONS = PERMISSION.initiate | PERMISSION.execute;

/** Lists the members with their permissions: the approvers only vote, the others propose and execute without a vote. */
export function multisigMembers({
  operator,
  recovery,
  company,
  wallet,
}: Pick<Multisig, 'operator' | 'recovery' | 'company' | 'wallet'>): Member[] {
  return [
    { key: operator, permissions: { mask: OPERATOR_PERMISSIONS } },
    ...(recovery === null ? [] : [{ key: recovery, permissions: { mask: OPERATOR_PERMISSIONS } }]),
    { key: company, permissions: { mask: PERMISSION.vote } },
    { key: wallet, permissions: { mask: PERMISSION.vote } },
  ];
}

/**
 * Lists the accounts that every batch of a project names, so that transactions and vault messages name each by one byte.
 * Signers and the programs that a transaction calls directly (Squads, compute budget) must be static accounts.
 */
export function lookupTableAddresses(input: {
  readonly multisig: Address;
  readonly vault: Address;
  readonly token: Pick<Token, 'mint' | 'programAddress'>;
  readonly lookupTable: Address;
}): LookupTable['addresses'] {
  const { mint, programAddress: tokenProgram } = input.token;
  const vaultTokenAccount = associatedTokenAddress({ owner: input.vault, mint, tokenProgram });
  return [
    input.multisig,
    input.vault,
    vaultTokenAccount,
    mint,
    tokenProgram,
    ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
    MEMO_PROGRAM_ADDRESS,
    SYSTEM_PROGRAM_ADDRESS,
    // The execution of a vault message that uses the table names the table as an account.
    input.lookupTable,
  ];
}

/**
 * Computes the sizes of the accounts that a registration creates.
 * @param recovery as in `RegistrationInput`.
 */
export function registrationBytes(recovery: Address | null): {
  readonly multisig: number;
  readonly lookupTable: number;
} {
  // Sizes depend on the number of addresses, and not on which they are.
  const any = SYSTEM_PROGRAM_ADDRESS;
  const members = multisigMembers({ operator: any, recovery, company: any, wallet: any });
  const token = { mint: any, programAddress: any };
  const addresses = lookupTableAddresses({ multisig: any, vault: any, token, lookupTable: any });
  return { multisig: multisigBytes(members.length), lookupTable: lookupTableBytes(addresses.length) };
}

/**
 * Compares the accounts that a registration created on chain with those that were built: the first mismatch in words, or
 * null. A multisig with another member, a lower threshold or an authority could be emptied without both approvers.
 */
export function registrationMismatch(
  onChain: { readonly multisig: AccountBytes; readonly lookupTable: AccountBytes },
  expected: { readonly multisig: Multisig; readonly createKey: Address },
): string | null {
  return (
    multisigMismatch(onChain.multisig, expected) ??
    lookupTableMismatch(onChain.lookupTable, expected.multisig.lookupTable)
  );
}

function multisigMismatch(
  account: AccountBytes,
  { multisig, createKey }: { readonly multisig: Multisig; readonly createKey: Address },
): string | null {
  const onChain = decodeMultisig(account);
  // Squads has no option here: the zero address, which no key can sign for, stands for none.
  const noAuthority = SYSTEM_PROGRAM_ADDRESS;
  return (
    mismatch('address', account.address, multisig.address) ??
    mismatch('create key', onChain.createKey, createKey) ??
    mismatch('config authority', onChain.configAuthority, noAuthority) ??
    mismatch('threshold', onChain.threshold, THRESHOLD) ??
    mismatch('time lock', onChain.timeLock, 0) ??
    mismatch('stale transaction index', onChain.staleTransactionIndex, 0n) ??
    mismatch('rent collector', onChain.rentCollector, multisig.rentCollector) ??
    mismatch('members', memberList(onChain.members), memberList(multisigMembers(multisig)))
  );
}

/** Compares a project's lookup table on chain with the expected one: the first mismatch in words, or null. */
export function lookupTableMismatch(account: AccountBytes, expected: LookupTable): string | null {
  if (account.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) {
    return `The lookup table ${account.address} is owned by ${account.programAddress}.`;
  }
  const table = getAddressLookupTableDecoder().decode(account.data);
  if (isSome(table.authority)) return `The lookup table ${account.address} is not frozen.`;
  return (
    mismatch('lookup table', account.address, expected.address) ??
    mismatch('lookup table’s addresses', table.addresses.join(', '), expected.addresses.join(', '))
  );
}

function memberList(members: readonly Member[]): string {
  return members
    .map(({ key, permissions }) => `${key} (${permissions.mask})`)
    .sort()
    .join(', ');
}

function mismatch<T>(name: string, actual: T, expected: T): string | null {
  return actual === expected ? null : `The multisig’s ${name} is ${actual}, not ${expected}.`;
}
