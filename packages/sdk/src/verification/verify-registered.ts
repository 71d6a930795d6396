import { chooseNode, type RpcUrl, sleep } from '@flywheel/solana-rpc';
import { decodeMultisig, type Member, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { type Address, isSome } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { type ChainAccount, readAccounts } from '../chain/rpc.ts';
import type { CallOptions } from '../client.ts';
import { FlywheelError } from '../errors.ts';
import {
  argumentIssues,
  describeMember,
  membersOf,
  mismatches,
  type RegisteredAddresses,
  tableAddresses,
} from './registration-terms.ts';

export interface VerifyRegisteredOptions extends CallOptions {
  /** How long a node that is behind is read again; 30 s by default. */
  readonly timeoutMs?: number;
}

const LANDING_TIMEOUT_MS = 30_000;

/**
 * Verifies after a registration that the chain holds the verified multisig and lookup table, and that the service's answer
 * names them. Until then deposit nothing: whoever knows the multisig's own key can create another one at its address, as
 * long as the signed transaction has not landed.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @throws FlywheelError `ERR_CHAIN_MISMATCH` if something differs.
 *
 * @example
 * const project = await confirm(registrationId, signedTransaction);
 * await verifyRegistered(rpcUrl, terms, project);
 */
export async function verifyRegistered(
  rpcUrl: RpcUrl,
  terms: RegisteredAddresses,
  project: { readonly multisig: string; readonly vaultAddress: string; readonly mintAddress: string },
  { timeoutMs = LANDING_TIMEOUT_MS, signal }: VerifyRegisteredOptions = {},
): Promise<void> {
  const [multisig, table] = await readCreated(await chooseNode(rpcUrl, signal), terms, { timeoutMs, signal });
  const issues = [
    ...mismatches('multisig', project.multisig, terms.multisig),
    ...mismatches('vault', project.vaultAddress, terms.vaultAddress),
    ...mismatches('mint', project.mintAddress, terms.mint),
    ...createdIssues(terms, multisig, table),
  ];
  if (issues.length === 0) return;
  throw new FlywheelError({
    code: 'ERR_CHAIN_MISMATCH',
    message: `Do not use this project, and deposit nothing into ${project.vaultAddress}: ${issues.join(' ')}`,
  });
}

const PAUSE_MS = 1_000;

async function readCreated(
  rpcUrl: string,
  { multisig, lookupTable }: RegisteredAddresses,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<readonly [ChainAccount, ChainAccount]> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const [created, table] = await readAccounts(rpcUrl, [multisig, lookupTable], { signal });
    // Lamports that a stranger sends to the address beforehand make an account of the System program.
    if (created?.programAddress === SQUADS_PROGRAM_ADDRESS && table) return [created, table];
    if (performance.now() > deadlineMs) {
      const message = `Deposit nothing yet: your node does not have the multisig ${multisig} and its lookup table ${lookupTable}.`;
      throw new FlywheelError({ code: 'ERR_CHAIN_MISMATCH', message });
    }
    await sleep(PAUSE_MS, signal);
  }
}

function createdIssues(terms: RegisteredAddresses, multisig: ChainAccount, table: ChainAccount): string[] {
  const { members, threshold, timeLock, configAuthority, rentCollector } = decodeMultisig(multisig);
  const expectedMembers = membersOf(terms);
  const list = (of: readonly Member[]) => of.map(describeMember).sort().join(', ');
  // The chain writes no authority as the zero address, which is the System program's.
  const authority = configAuthority === SYSTEM_PROGRAM_ADDRESS ? null : configAuthority;
  return [
    ...(list(members) === list(expectedMembers)
      ? []
      : [`The multisig on chain has the members ${list(members)}; you signed ${list(expectedMembers)}.`]),
    ...argumentIssues({ configAuthority: authority, threshold, timeLock, rentCollector }, terms.operator),
    ...tableIssues(table, tableAddresses(terms)),
  ];
}

function tableIssues({ address: table, programAddress, data }: ChainAccount, expected: readonly Address[]): string[] {
  if (programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) return [`${table} is not a lookup table.`];
  const { authority, addresses } = getAddressLookupTableDecoder().decode(data);
  return [
    ...(isSome(authority) ? [`The lookup table ${table} is not frozen.`] : []),
    ...(addresses.join() === expected.join() ? [] : [`The lookup table ${table} has other addresses than you signed.`]),
  ];
}
