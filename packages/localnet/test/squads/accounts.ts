import { createHash } from 'node:crypto';
import { type Address, address, getAddressDecoder } from '@solana/kit';
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { multisigAddress, vaultAddress } from '../../src/squads-emulation/program/addresses.ts';

/** Accounts of a test, the same for the same name. They need no keys, because signatures are not checked. */
export interface TestAccounts {
  readonly operator: Address;
  readonly company: Address;
  readonly wallet: Address;
  readonly stranger: Address;
  readonly createKey: Address;
  readonly treasury: Address;
  readonly multisig: Address;
  readonly vault: Address;
  /** A token of the Token program and one of Token-2022. */
  readonly tokens: readonly [Token, Token];
  readonly recipients: readonly Address[];
  readonly lookupTable: Address;
}

export interface Token {
  readonly program: Address;
  readonly mint: Address;
  readonly vaultAccount: Address;
}

export const TOKEN_2022_PROGRAM_ADDRESS = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

const RECIPIENTS = 12;

export async function createAccounts(name: string): Promise<TestAccounts> {
  const named = (role: string) => getAddressDecoder().decode(createHash('sha256').update(`${name}/${role}`).digest());
  const createKey = named('create key');
  const multisig = multisigAddress(createKey).address;
  const vault = vaultAddress(multisig, 0).address;
  const token = async (program: Address) => {
    const mint = named(`mint of ${program}`);
    const [vaultAccount] = await findAssociatedTokenPda({ owner: vault, mint, tokenProgram: program });
    return { program, mint, vaultAccount };
  };
  return {
    operator: named('operator'),
    company: named('company'),
    wallet: named('wallet'),
    stranger: named('stranger'),
    createKey,
    treasury: named('treasury'),
    multisig,
    vault,
    tokens: [await token(TOKEN_PROGRAM_ADDRESS), await token(TOKEN_2022_PROGRAM_ADDRESS)],
    recipients: Array.from({ length: RECIPIENTS }, (_, each) => named(`recipient ${each}`)),
    lookupTable: named('lookup table'),
  };
}
