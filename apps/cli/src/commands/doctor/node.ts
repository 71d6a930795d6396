import { publicClusterOf, SYSVAR_CLOCK_ADDRESS, TRANSACTION_V1_FEATURE } from '@flywheel/protocol';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { programConfigAddress, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import {
  type Address,
  createSolanaRpcFromTransport,
  fetchEncodedAccounts,
  type MaybeEncodedAccount,
  type RpcTransport,
} from '@solana/kit';
import { reasonOf } from './check.ts';

/** A node of the cluster that answers, and what it has answered. */
export interface Node {
  readonly url: string;
  /** Host and port; the rest of a URL may be secret. */
  readonly host: string;
  /** The first word of a sentence about the node. */
  readonly name: string;
  readonly rpc: NodeRpc;
  readonly genesisHash: string;
  /** null if the node does not say. The service does not ask. */
  readonly version: string | null;
  readonly slots: { readonly processed: bigint; readonly confirmed: bigint; readonly finalized: bigint };
  readonly accounts: {
    readonly squadsProgram: MaybeEncodedAccount;
    readonly squadsConfig: MaybeEncodedAccount;
    readonly version1Feature: MaybeEncodedAccount;
    readonly clock: MaybeEncodedAccount;
  };
}

export type NodeRpc = ReturnType<typeof createSolanaRpcFromTransport>;

export interface SilentNode {
  readonly host: string;
  readonly error: string;
}

/** Reads what the checks of the cluster need from a node. */
export async function readNode(url: string, isOnlyNode: boolean): Promise<Node | SilentNode> {
  const { host } = new URL(url);
  const rpc = createSolanaRpcFromTransport(openTransport(url));
  try {
    const addresses = [
      SQUADS_PROGRAM_ADDRESS,
      programConfigAddress(),
      TRANSACTION_V1_FEATURE,
      SYSVAR_CLOCK_ADDRESS,
    ] as const;
    const [genesisHash, version, slots, [squadsProgram, squadsConfig, version1Feature, clock]] = await Promise.all([
      rpc.getGenesisHash().send(),
      rpc
        .getVersion()
        .send()
        .catch(() => null),
      readSlots(rpc),
      fetchEncodedAccounts(rpc, [...addresses], { commitment: 'confirmed' }),
    ]);
    if (!squadsProgram || !squadsConfig || !version1Feature || !clock) throw new Error('it answers too few accounts');
    return {
      ...{ url, host, name: isOnlyNode ? 'The node' : host, rpc, genesisHash },
      version: version?.['solana-core'] ?? null,
      slots,
      accounts: { squadsProgram, squadsConfig, version1Feature, clock },
    };
  } catch (error) {
    return { host, error: reasonOf(error) };
  }
}

/** Opens a transport that gives up soon: a healthy node answers within two seconds. */
export function openTransport(
  url: string,
  options: Omit<Parameters<typeof createRpcTransport>[0], 'url'> = {},
): RpcTransport {
  return createRpcTransport({ url, timeoutMs: TIMEOUT_MS, maxAttempts: 1, ...options });
}

export const TIMEOUT_MS = 5_000;

/** The oldest first, so that none is below the one before on a node that only moves forward. */
async function readSlots(rpc: NodeRpc): Promise<Node['slots']> {
  const finalized = await rpc.getSlot({ commitment: 'finalized' }).send();
  const confirmed = await rpc.getSlot({ commitment: 'confirmed' }).send();
  return { finalized, confirmed, processed: await rpc.getSlot({ commitment: 'processed' }).send() };
}

/** Reads accounts at `confirmed` with the method that the service uses; null for one that does not exist. */
export async function readAccounts(rpc: NodeRpc, addresses: readonly Address[]) {
  const accounts = await fetchEncodedAccounts(rpc, [...addresses], { commitment: 'confirmed' });
  return accounts.map((account) => (account.exists ? { ...account, data: new Uint8Array(account.data) } : null));
}

/** `mainnet`, or what to call a cluster that is none of the public ones. */
export function clusterNameOf({ genesisHash }: Pick<Node, 'genesisHash'>, isLocal: boolean): string {
  return publicClusterOf(genesisHash) ?? (isLocal ? 'a local cluster' : 'a private cluster');
}
