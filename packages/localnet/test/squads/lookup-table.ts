import type { LookupTable } from '@flywheel/squads';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { TestAccounts } from './accounts.ts';
import { tokenAccountOf } from './vault-instructions.ts';

/** Creates a table of the addresses that batches use, for the transactions and for their vault messages. */
export async function createLookupTable({
  lookupTable,
  tokens,
  multisig,
  recipients,
}: TestAccounts): Promise<LookupTable> {
  const [first, second] = recipients;
  const owners = [first, second].filter((owner) => owner !== undefined);
  const accounts = await Promise.all(owners.map((owner) => tokenAccountOf(tokens[0], owner)));
  const perToken = tokens.flatMap(({ program, mint, vaultAccount }) => [program, mint, vaultAccount]);
  return { address: lookupTable, addresses: [SYSTEM_PROGRAM_ADDRESS, multisig, ...perToken, ...owners, ...accounts] };
}
