import { type Address, createNoopSigner, type Instruction } from '@solana/kit';
import {
  findAddressLookupTablePda,
  getCreateLookupTableInstruction,
  getExtendLookupTableInstruction,
  getFreezeLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from '@solana-program/memo';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, findAssociatedTokenPda } from '@solana-program/token';
import type { LookupTable, Multisig, Token } from '../model/project.ts';
import { multisigAddress, vaultAddress } from './addresses.ts';
import { type Member, multisigCreateV2, PERMISSION } from './instructions.ts';

export interface RegistrationInput {
  /** The project approver; signs and pays. */
  readonly wallet: Address;
  /** A throwaway key that co-signs this once and gives the multisig its address. */
  readonly createKey: Address;
  readonly company: Address;
  readonly operator: Address;
  /** `ProgramConfigAccount.treasury`. */
  readonly treasury: Address;
  readonly token: Pick<Token, 'mint' | 'programAddress'>;
  /** A slot of the last 512 (SlotHashes); gives the lookup table its address. */
  readonly recentSlot: bigint;
}

/** Both approvers must vote for every batch. */
export const THRESHOLD = 2;

/** The vault of a multisig that this project uses. */
const VAULT_INDEX = 0;

/**
 * The project's multisig, and the instructions that create it: the multisig itself, then its lookup table, filled and
 * frozen, so that what a vault message names by index can never change. They fit one transaction.
 */
export async function registrationInstructions(
  input: RegistrationInput,
): Promise<{ readonly instructions: readonly Instruction[]; readonly multisig: Multisig }> {
  const { wallet, company, operator, createKey, treasury, recentSlot } = input;
  const address = await multisigAddress(createKey);
  const [vault, table] = await Promise.all([
    vaultAddress(address, VAULT_INDEX),
    findAddressLookupTablePda({ authority: wallet, recentSlot }),
  ]);
  const addresses = await lookupTableAddresses({ multisig: address, vault, token: input.token, lookupTable: table[0] });
  const multisig: Multisig = {
    address,
    vault,
    vaultIndex: VAULT_INDEX,
    operator,
    company,
    wallet,
    lookupTable: { address: table[0], addresses },
  };
  const signer = createNoopSigner(wallet);
  return {
    multisig,
    instructions: [
      await multisigCreateV2({
        createKey,
        creator: wallet,
        treasury,
        members: multisigMembers(multisig),
        threshold: THRESHOLD,
        rentCollector: operator,
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
      ].map(withoutSigners),
    ],
  };
}

/** Who may do what: the operator proposes and executes without a vote, the approvers vote and nothing else. */
export function multisigMembers({
  operator,
  company,
  wallet,
}: Pick<Multisig, 'operator' | 'company' | 'wallet'>): Member[] {
  return [
    { address: operator, permissions: PERMISSION.initiate | PERMISSION.execute },
    { address: company, permissions: PERMISSION.vote },
    { address: wallet, permissions: PERMISSION.vote },
  ];
}

/**
 * What every batch of a project names again and again, so that transactions and vault messages name it by one byte.
 * The programs a transaction calls directly (Squads, compute budget) must be static, as must whoever signs.
 */
export async function lookupTableAddresses(input: {
  readonly multisig: Address;
  readonly vault: Address;
  readonly token: Pick<Token, 'mint' | 'programAddress'>;
  readonly lookupTable: Address;
}): Promise<LookupTable['addresses']> {
  const { mint, programAddress: tokenProgram } = input.token;
  const [vaultTokenAccount] = await findAssociatedTokenPda({ owner: input.vault, mint, tokenProgram });
  return [
    input.multisig,
    input.vault,
    vaultTokenAccount,
    mint,
    tokenProgram,
    ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
    LEGACY_MEMO_PROGRAM_ADDRESS_V3,
    SYSTEM_PROGRAM_ADDRESS,
    // Executing a vault message that uses the table names the table as an account.
    input.lookupTable,
  ];
}

/** A plain instruction: who signs is said by roles alone, and HTTP processes hold no keys. */
function withoutSigners({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Instruction {
  return { programAddress, accounts: accounts.map(({ address, role }) => ({ address, role })), data };
}
