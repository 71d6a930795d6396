import { associatedTokenAddress, MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { type Member, type MultisigCreateV2Args, PERMISSION } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';

/** The multisig that a verified registration creates, by the addresses that are on chain afterwards. */
export interface RegisteredAddresses {
  readonly wallet: Address;
  readonly mint: Address;
  /** SPL Token or Token-2022. */
  readonly tokenProgram: Address;
  readonly multisig: Address;
  readonly vaultAddress: Address;
  /** Votes for the company, and does nothing else. */
  readonly company: Address;
  /** Proposes and executes, collects the rent of ended batches, and has no vote. */
  readonly operator: Address;
  /** Proposes and executes in the place of a lost operator, and has no vote; null if there is none. */
  readonly recovery: Address | null;
  readonly lookupTable: Address;
}

/** The multisig that a verified registration creates, and what it costs. */
export interface RegistrationTerms extends RegisteredAddresses {
  /** The most that the wallet pays: rent, fees of the transaction, and Squads' fee. */
  readonly costLamports: bigint;
  /**
   * The addresses of `expect` that `company` and `operator` succeed, as their keys have signed; empty if there are none. Keep
   * the new address in their place: from then on the old key can name no other one.
   */
  readonly predecessors: { readonly company: readonly string[]; readonly operator: readonly string[] };
}

/** Both the wallet and the company vote for every batch. */
export const THRESHOLD = 2;

/** Lists the members of the multisig with their permissions: two vote, the others propose and execute without a vote. */
export function membersOf({ wallet, company, operator, recovery }: RegisteredAddresses): Member[] {
  const { vote, initiate, execute } = PERMISSION;
  const proposers = [operator, ...(recovery === null ? [] : [recovery])];
  return [
    ...[wallet, company].map((key) => ({ key, permissions: { mask: vote } })),
    ...proposers.map((key) => ({ key, permissions: { mask: initiate | execute } })),
  ];
}

/** Lists the addresses that the vault's messages name by their index in the table, in order. */
export function tableAddresses({
  multisig,
  vaultAddress: vault,
  mint,
  tokenProgram,
  lookupTable,
}: RegisteredAddresses): Address[] {
  const vaultTokenAccount = associatedTokenAddress({ owner: vault, mint, tokenProgram });
  return [multisig, vault, vaultTokenAccount, mint, tokenProgram, ...TABLE_PROGRAMS, lookupTable];
}

/** Programs of `tableAddresses` that every project has, beside the token's. */
export const TABLE_PROGRAMS: readonly Address[] = [
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  MEMO_PROGRAM_ADDRESS,
  SYSTEM_PROGRAM_ADDRESS,
];

/** Length of `tableAddresses`. */
export const TABLE_LENGTH = 9;

/** Lists how the settings of a multisig differ from those of a project's, a sentence each. */
export function argumentIssues(
  {
    configAuthority,
    threshold,
    timeLock,
    rentCollector,
  }: Pick<MultisigCreateV2Args, 'configAuthority' | 'threshold' | 'timeLock' | 'rentCollector'>,
  operator: Address,
): string[] {
  return [
    ...(threshold === THRESHOLD ? [] : [`The multisig would need ${threshold} votes, not ${THRESHOLD}.`]),
    ...(configAuthority === null ? [] : [`${configAuthority} alone could change the multisig.`]),
    ...(timeLock === 0 ? [] : [`The multisig would execute only ${timeLock} s after the votes.`]),
    ...(rentCollector === operator
      ? []
      : [`The rent of ended batches would go to ${rentCollector ?? 'no address'}, not to the operator ${operator}.`]),
  ];
}

/** Compares an address that the service shows with the one that was verified; a sentence if they differ. */
export function mismatches(name: string, shown: string, actual: string): string[] {
  return shown === actual ? [] : [`The service shows the ${name} ${shown}; it is ${actual}.`];
}

/** A member with its permissions, in words. */
export function describeMember({ key, permissions: { mask } }: Member): string {
  const names = Object.entries(PERMISSION).flatMap(([name, bit]) => ((mask & bit) === 0 ? [] : [name]));
  return `${key} (${names.join(', ') || 'nothing'})`;
}
