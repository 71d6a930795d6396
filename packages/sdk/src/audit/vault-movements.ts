import type { RpcUrl } from '@flywheel/solana-rpc';
import type { CallOptions } from '../client.ts';
import { FlywheelError } from '../errors.ts';
import { type Change, lamportsOf, tokensIn } from './balances.ts';
import { type AuditNode, type Entry, openAuditNode } from './node.ts';
import { createLimit, READS_AT_ONCE } from './read-ahead.ts';

/** The change of a vault's balances by one transaction. */
export interface VaultMovement {
  readonly signature: string;
  readonly slot: number;
  /** ISO 8601, the block's time; null if the node does not know it. */
  readonly executedAt: string | null;
  /** Change of the vault's SOL, in lamports; negative if it paid. */
  readonly lamports: bigint;
  /** Change of its tokens, in base units; negative if it paid. */
  readonly baseUnits: bigint;
  /** True if neither balance became smaller. */
  readonly isDeposit: boolean;
}

/** The vault, and how many of its transactions are read. */
export interface VaultMovementsQuery {
  readonly vault: string;
  /** The vault's associated token account of the project's mint. */
  readonly tokenAccount: string;
  /** Transactions that are read, 1 to 1,000; default: 15. Those that changed no balance are left out of the result. */
  readonly limit?: number;
}

/** A person waits for the result: waits of 0.25, 0.5 and 1 s bridge a short outage. */
const MAX_ATTEMPTS = 4;
const DEFAULT_LIMIT = 15;

/**
 * Reads the last confirmed transactions that changed a vault's balances, newest first. Token transfers name the token account
 * and not the vault, so the transactions of both are listed. `auditVault` reads all of them, and says what each was for.
 * @param rpcUrl a Solana node, or several of one cluster: transactions that the first one lacks are asked of the others.
 * @throws FlywheelError if no node answers, or the answer is not as documented.
 *
 * @example
 * const [newest] = await readVaultMovements(rpcUrl, { vault, tokenAccount });
 */
export async function readVaultMovements(
  rpcUrl: RpcUrl,
  { vault, tokenAccount, limit = DEFAULT_LIMIT }: VaultMovementsQuery,
  { signal }: CallOptions = {},
): Promise<VaultMovement[]> {
  const options = { commitment: 'confirmed', requestsPerSecond: null, maxAttempts: MAX_ATTEMPTS, signal } as const;
  const node = await openAuditNode(rpcUrl, options);
  const lists = await Promise.all([vault, tokenAccount].map((account) => listNewest(node, account, limit)));
  const newest = [...new Map(lists.flat().map((entry) => [entry.signature, entry])).values()]
    .filter(({ hasFailed }) => !hasFailed)
    .toSorted((a, b) => b.slot - a.slot)
    .slice(0, limit);
  const limited = createLimit(READS_AT_ONCE);
  const read = await Promise.all(
    newest.map((entry) => limited(() => readMovement(node, entry, { vault, tokenAccount }))),
  );
  return read.filter((movement) => movement !== null);
}

async function listNewest(node: AuditNode, account: string, limit: number): Promise<readonly Entry[]> {
  const entries = await node.listOlder(account, { before: null, limit, minContextSlot: 0 });
  if (entries !== null) return entries;
  throw new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: `The node keeps no list of the transactions of ${account}.`,
  });
}

/** Reads what a transaction changed; null if that is nothing, or if no node has the transaction any more. */
async function readMovement(
  node: AuditNode,
  entry: Entry,
  { vault, tokenAccount }: Pick<VaultMovementsQuery, 'vault' | 'tokenAccount'>,
): Promise<VaultMovement | null> {
  const transaction = await node.readTransaction(entry);
  if (transaction === null) return null;
  const lamports = changeOf(lamportsOf(transaction, vault));
  const baseUnits = changeOf(tokensIn(transaction, vault, tokenAccount));
  if (lamports === 0n && baseUnits === 0n) return null;
  const { signature } = entry;
  const { slot, executedAt } = transaction;
  return { signature, slot, executedAt, lamports, baseUnits, isDeposit: lamports >= 0n && baseUnits >= 0n };
}

function changeOf(change: Change | null): bigint {
  return change === null ? 0n : change.after - change.before;
}
