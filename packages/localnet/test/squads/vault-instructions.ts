import { compileVaultMessage, type LookupTable, vaultMessageAccounts } from '@flywheel/squads';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  address,
  createNoopSigner,
  type Instruction,
  isSignerRole,
} from '@solana/kit';
import {
  findAssociatedTokenPda,
  getBurnCheckedInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';
import type { TestAccounts, Token } from './accounts.ts';
import { DECIMALS } from './setup.ts';

// Instructions that pipelines run with the vault.

export const MEMO_PROGRAM_ADDRESS = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

export function memo(text: string, signer?: Address): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: signer ? [{ address: signer, role: AccountRole.READONLY_SIGNER }] : [],
    data: new TextEncoder().encode(text),
  };
}

export function burn({ vault }: TestAccounts, token: Token, amount: bigint): Instruction {
  return getBurnCheckedInstruction(
    { account: token.vaultAccount, mint: token.mint, authority: createNoopSigner(vault), amount, decimals: DECIMALS },
    { programAddress: token.program },
  );
}

export interface Airdrop {
  readonly recipient: Address;
  readonly amount: bigint;
  /** Creates the recipient's token account; true by default. */
  readonly create?: boolean;
}

export async function airdrop(
  { vault }: TestAccounts,
  token: Token,
  { recipient, amount, create = true }: Airdrop,
): Promise<Instruction[]> {
  const destination = await tokenAccountOf(token, recipient);
  const transfer = getTransferCheckedInstruction(
    {
      source: token.vaultAccount,
      mint: token.mint,
      destination,
      authority: createNoopSigner(vault),
      amount,
      decimals: DECIMALS,
    },
    { programAddress: token.program },
  );
  if (!create) return [transfer];
  const creation = getCreateAssociatedTokenIdempotentInstruction({
    payer: createNoopSigner(vault),
    ata: destination,
    owner: recipient,
    mint: token.mint,
    tokenProgram: token.program,
  });
  return [creation, transfer];
}

export async function tokenAccountOf(token: Token, owner: Address): Promise<Address> {
  const [account] = await findAssociatedTokenPda({ owner, mint: token.mint, tokenProgram: token.program });
  return account;
}

export interface CompiledVaultMessage {
  readonly bytes: Uint8Array;
  /** Accounts that its execution needs after the instruction's own. */
  readonly remaining: readonly AccountMeta[];
}

/** Compiles instructions in which any account may sign, for messages that an honest client would not send. */
export function compileMessage(
  vault: Address,
  instructions: readonly Instruction[],
  lookupTables: readonly LookupTable[] = [],
): CompiledVaultMessage {
  const metas = instructions.flatMap(({ accounts = [] }) => accounts);
  const otherSigners = metas.filter(({ role }) => isSignerRole(role)).map(({ address }) => address);
  const context = { vault, lookupTables, otherSigners };
  const bytes = compileVaultMessage(instructions, context);
  return { bytes, remaining: vaultMessageAccounts(bytes, context) };
}
