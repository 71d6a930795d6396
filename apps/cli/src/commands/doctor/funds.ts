import { pluralize } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { formatSol } from '../../format.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import type { Operators, ServiceState } from './database.ts';
import { type Node, readAccounts } from './node.ts';

/** Upper bounds of the rent that an open batch locks, and each of its pipelines (docs/operating.md, What to watch). */
const BATCH_LAMPORTS = 4_900_000n;
const PIPELINE_LAMPORTS = 4_400_000n;
/** With room for fewer open pipelines, the balance needs attention. */
const COMFORTABLE_PIPELINES = 100n;

/** An operator that pays for projects. */
interface Payer {
  readonly name: 'operator' | 'previous operator';
  readonly address: Address;
}

/** Lists the operators that pay: the present one, and the previous one while projects have it. */
export function listPayers({ present, previous }: Operators, members: ServiceState['members']): Payer[] {
  const isInUse = members.some(({ operator }) => operator === previous);
  return [
    ...(present === undefined ? [] : [{ name: 'operator', address: present } as const]),
    ...(previous === undefined || !isInUse ? [] : [{ name: 'previous operator', address: previous } as const]),
  ];
}

/** Checks that an operator can pay. @param reserveLamports setups pause below this balance. */
export async function checkBalance(
  { name, address }: Payer,
  node: Node | null,
  reserveLamports: bigint,
): Promise<Check> {
  let lamports: bigint;
  try {
    if (node === null) throw new Error('no cluster answers');
    const [account] = await readAccounts(node.rpc, [address]);
    lamports = account?.lamports ?? 0n;
  } catch (error) {
    const text = `Cannot read the ${name}’s balance: ${reasonOf(error)}.`;
    return failure('balance', text, 'See the check of the cluster.');
  }
  const spare = lamports - reserveLamports - BATCH_LAMPORTS;
  const pipelines = spare > 0n ? spare / PIPELINE_LAMPORTS : 0n;
  const held = `The ${name} holds ${formatSol(lamports)}`;
  const remedy = `Send SOL to ${address}: each open pipeline locks up to ${formatSol(PIPELINE_LAMPORTS)} until its batch is closed.`;
  if (pipelines === 0n) {
    return failure(
      'balance',
      `${held}: too little to set up a batch and keep ${formatSol(reserveLamports)} in reserve.`,
      remedy,
    );
  }
  const room = `room for about ${pluralize(Number(pipelines), 'open pipeline')}`;
  if (pipelines < COMFORTABLE_PIPELINES) return warning('balance', `${held}: ${room}.`, remedy);
  return ok('balance', `${held}: ${room}.`);
}

interface NonceInput {
  readonly node: Node;
  readonly operator: Address;
  readonly freeNonces: ServiceState['freeNonces'];
  readonly readNonces: typeof import('@flywheel/service').readNonces;
}

/**
 * Checks that nonces of the database are on this cluster, and the operator's. They are not if the database belongs to another
 * cluster.
 */
export async function checkNonceAccounts({ node, operator, freeNonces, readNonces }: NonceInput): Promise<Check[]> {
  const addresses = freeNonces
    .filter((nonce) => nonce.operator === null || nonce.operator === operator)
    .map(({ address }) => address);
  if (addresses.length === 0) return [];
  try {
    const accounts = (wanted: readonly Address[]) => readAccounts(node.rpc, wanted);
    const found = await readNonces({ accounts }, operator, addresses, 'confirmed');
    const missing = addresses.filter((address) => !found.has(address));
    if (missing.length === 0) {
      return [ok('nonces', `${pluralize(found.size, 'nonce')} of the database were read on the cluster.`)];
    }
    const text = `${missing.length} of ${pluralize(addresses.length, 'nonce')} of the database are not the operator’s on this cluster, e.g. ${missing[0]}.`;
    const remedy =
      'If it is all of them, DATABASE_URL and SOLANA_RPC_URL belong to different clusters. Stop the workers first.';
    return [failure('nonces', text, remedy)];
  } catch (error) {
    return [warning('nonces', `Nonces cannot be read: ${reasonOf(error)}.`, 'See the check of the methods.')];
  }
}
