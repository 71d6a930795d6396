import { decodeMultisig, type Member, PERMISSION } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { isOperatorLost, type Multisig } from '../../model/project.ts';
import type { Chain } from '../../solana/chain.ts';
import { NodeBehind } from '../../solana/node-unavailable.ts';
import { lookupTableMismatch, THRESHOLD } from '../../squads/registration.ts';
import type { RunDeps } from '../deps.ts';

/** Checks that a multisig on chain is one that this worker may sign for. @throws Error if it is not. */
export type MultisigCheck = (deps: Pick<RunDeps, 'chain'>, multisig: Multisig) => Promise<void>;

/** The addresses that this worker signs with. */
export interface OwnKeys {
  /** Present and previous. */
  readonly companies: ReadonlySet<Address>;
  /** The present one. */
  readonly operator: Address;
  /** The one that it replaces; null if there is none. */
  readonly previousOperator: Address | null;
}

/**
 * Creates the check: its row comes from other processes. The chain's lookup table must be the row's, because transactions and
 * vault messages name accounts by their place in it. Only two voters together, of which the company is one, may change who
 * receives the rent that the operator pays. The operator that is replaced receives only what it has paid itself, because
 * its key may be stolen. Each is read once: only a rotation, which the company votes for, changes them.
 */
export function createMultisigCheck({ companies, operator, previousOperator }: OwnKeys): MultisigCheck {
  const checked = new Set<string>();
  return async ({ chain }, multisig) => {
    const key = JSON.stringify(multisig);
    if (checked.has(key)) return;
    const [account, table] = await chain.accounts([multisig.address, multisig.lookupTable.address]);
    if (!account || !table) throw new Error(`The cluster lacks the multisig ${multisig.address} or its lookup table.`);
    const { members, threshold, configAuthority, timeLock, rentCollector } = decodeMultisig(account);
    const voters = votersOf(members);
    const isGuarded = threshold === THRESHOLD && configAuthority === SYSTEM_PROGRAM_ADDRESS && timeLock === 0;
    const isByTwo =
      voters.length === THRESHOLD && voters.every(({ permissions }) => permissions.mask === PERMISSION.vote);
    const isCompanys = voters.some((voter) => companies.has(voter.key));
    // A lost operator, which only workers record, collects the rent until it is replaced.
    const isOwn =
      rentCollector === operator ||
      (rentCollector !== null && rentCollector === previousOperator && multisig.operator === previousOperator) ||
      (isOperatorLost(multisig) && rentCollector === multisig.rentCollector);
    if (!isGuarded || !isByTwo) {
      throw new Error(`The multisig ${multisig.address} is not one that this service has registered.`);
    }
    // A worker that was started without a previous key finds these, too.
    if (!isCompanys) {
      const keys = voters.map(({ key }) => key).join(' and ');
      throw new Error(
        `${keys} vote in the multisig ${multisig.address}, and neither is the company approver of this worker. If one was before, set COMPANY_SIGNER_PREVIOUS to its key.`,
      );
    }
    if (!isOwn) {
      throw new Error(
        `The rent of the multisig ${multisig.address} goes to ${rentCollector}, which is not the operator of this worker. If it was before, set OPERATOR_SIGNER_PREVIOUS to its key.`,
      );
    }
    const problem = lookupTableMismatch(table, multisig.lookupTable);
    if (problem !== null) throw new Error(problem);
    checked.add(key);
  };
}

/**
 * Compares the voters of a multisig on chain with its row, which an operator is shown and another process has written.
 * @returns null if they are the same, otherwise a sentence.
 * @throws NodeBehind if the node does not show the multisig: it may be new.
 */
export async function findVoterMismatch(
  { chain }: { readonly chain: Pick<Chain, 'accounts'> },
  { address, wallet, company }: Pick<Multisig, 'address' | 'wallet' | 'company'>,
): Promise<string | null> {
  const [account] = await chain.accounts([address]);
  if (!account) throw new NodeBehind(`The node does not show the multisig ${address}.`);
  const voters = votersOf(decodeMultisig(account).members).map(({ key }) => key);
  const isSame = voters.length === THRESHOLD && voters.includes(wallet) && voters.includes(company);
  return isSame ? null : `${voters.join(' and ')} vote in the multisig ${address}, not ${wallet} and ${company}.`;
}

function votersOf(members: readonly Member[]): readonly Member[] {
  return members.filter(({ permissions }) => (permissions.mask & PERMISSION.vote) !== 0);
}
