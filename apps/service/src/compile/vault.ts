import { associatedTokenAddress } from '@flywheel/protocol';
import { type Address, createNoopSigner, type TransactionSigner } from '@solana/kit';
import type { Project, Token } from '../model/project.ts';

/** The vault that actions are compiled for. */
export interface Vault {
  readonly address: Address;
  readonly token: Token;
  /** The vault's associated token account. */
  readonly tokenAccount: Address;
  /** Marks the vault as a signer in instruction builders. Squads signs for it on chain. */
  readonly signer: TransactionSigner;
  /** Derives the associated token account of a wallet. */
  readonly tokenAccountOf: (owner: Address) => Address;
}

/** Builds the vault of a project. */
export function vaultOf({ token, flywheel }: Pick<Project, 'token' | 'flywheel'>): Vault {
  const address = flywheel.multisig.vault;
  const { mint, programAddress: tokenProgram } = token;
  const tokenAccountOf = (owner: Address) => associatedTokenAddress({ owner, mint, tokenProgram });
  return {
    address,
    token,
    tokenAccount: tokenAccountOf(address),
    signer: createNoopSigner(address),
    tokenAccountOf,
  };
}
