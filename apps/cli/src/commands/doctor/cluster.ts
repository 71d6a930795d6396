import { publicClusterOf } from '@flywheel/protocol';
import type { Config } from '@flywheel/service';
import type { Address } from '@solana/kit';
import { createSolanaRpcFromTransport } from '@solana/kit';
import { checkBlockEngine } from './block-engine.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import { checkClusterClock } from './clocks.ts';
import { clusterNameOf, type Node, openTransport, readNode, type SilentNode } from './node.ts';
import { checkCommitment, checkHistory, checkLimits, checkMethods } from './node-abilities.ts';
import { checkProgram, checkVersion1 } from './program.ts';

type Service = typeof import('@flywheel/service');

export interface ClusterInput {
  readonly config: Config;
  readonly service: Service;
  /** `mainnet`, `devnet`, `testnet` or a genesis hash: the cluster that it should be. null: any. */
  readonly expected: string | null;
  readonly operator: Address | null;
}

export interface ClusterChecks {
  readonly checks: readonly Check[];
  /** The first node that answers; null if none does. */
  readonly node: Node | null;
}

/**
 * Checks that the nodes answer and are of one cluster, that it is the expected one, that it has what the service needs, and what
 * each node allows and keeps.
 */
export async function checkCluster(rpcUrls: readonly string[], input: ClusterInput): Promise<ClusterChecks> {
  const { config, service, expected, operator } = input;
  const readings = await Promise.all(rpcUrls.map((url) => readNode(url, rpcUrls.length === 1)));
  const answering = readings.filter((reading) => 'genesisHash' in reading);
  const [first] = answering;
  if (!first) {
    const reasons = readings.flatMap((reading) => ('error' in reading ? [reading.error] : []));
    const remedy = config.solanaRpcUrls === null ? LOCAL_REMEDY : NODE_REMEDY;
    return { checks: [failure('cluster', `No cluster answers: ${reasons.join('; ')}.`, remedy)], node: null };
  }
  const newestSlot = answering.reduce((newest, { slots }) => (slots.confirmed > newest ? slots.confirmed : newest), 0n);
  const name = clusterNameOf(first, config.isClusterLocal);
  const nodes = answering.filter(({ genesisHash }) => genesisHash === first.genesisHash);
  const checks = await Promise.all([
    ...readings.map((reading) => checkAnswer(reading, { first, newestSlot, name })),
    ...checkGenesis(first, config, expected),
    checkPublicUrl(first, config),
    checkProgram(first, name),
    checkVersion1(first, operator),
    checkClusterClock(first, name),
    checkBlockEngine(first, config, service),
  ]);
  // One after the other, because a provider may limit requests.
  const abilities = await Promise.all(
    nodes.map(async (node) => [
      await checkMethods(node, service.CHAIN_METHODS),
      await checkHistory(node, operator, config),
      await checkLimits(node),
      checkCommitment(node),
    ]),
  );
  return { checks: [...checks.filter((check) => check !== null), ...abilities.flat()], node: first };
}

const LOCAL_REMEDY = 'npm start runs a local cluster; SOLANA_RPC_URL sets another one.';
const NODE_REMEDY = 'Check SOLANA_RPC_URL, and the provider’s status, key and quota.';

/** Slots behind which Agave calls a node unhealthy (rpc, DEFAULT_HEALTH_CHECK_SLOT_DISTANCE). */
const MAX_SLOTS_BEHIND = 128n;

interface Comparison {
  readonly first: Node;
  readonly newestSlot: bigint;
  readonly name: string;
}

/** Checks a node of several. Those behind it in the list replace it, so all must be of one cluster. */
function checkAnswer(reading: Node | SilentNode, { first, newestSlot, name }: Comparison): Check {
  const { host } = reading;
  if ('error' in reading) {
    return warning('cluster', `${host} does not answer: ${reading.error}. The other nodes are used.`, NODE_REMEDY);
  }
  const { genesisHash, version, slots } = reading;
  if (genesisHash !== first.genesisHash) {
    const text = `${host} is of another cluster than ${first.host}: genesis ${genesisHash}, not ${first.genesisHash}.`;
    return failure('cluster', text, 'Remove one of them from SOLANA_RPC_URL: its answers are about another chain.');
  }
  const behind = newestSlot - slots.confirmed;
  const place = `slot ${slots.confirmed}${behind > 0n ? `, ${behind} behind the newest node` : ''}`;
  const text = `${host} answers: ${name}, ${version === null ? '' : `version ${version}, `}${place}.`;
  if (behind <= MAX_SLOTS_BEHIND) return ok('cluster', text);
  return warning(
    'cluster',
    text,
    `Put it behind the others, or replace it: more than ${MAX_SLOTS_BEHIND} is unhealthy.`,
  );
}

/** Checks that the cluster is the one that `--cluster` and SOLANA_CLUSTER_IS_LOCAL say. */
function checkGenesis({ genesisHash }: Node, { isClusterLocal }: Config, expected: string | null): Check[] {
  const found = publicClusterOf(genesisHash);
  if (expected !== null && expected !== found && expected !== genesisHash) {
    const text = `The cluster is ${found ?? 'none of mainnet, devnet and testnet'}, not ${expected}: its genesis is ${genesisHash}.`;
    return [failure('genesis', text, `Set SOLANA_RPC_URL to a node of ${expected} before a process starts.`)];
  }
  if (found === null) {
    const kind = isClusterLocal
      ? 'a local one: its SOL has no value'
      : 'none of mainnet, devnet and testnet, and SOLANA_CLUSTER_IS_LOCAL is not 1: its SOL counts as money';
    return [ok('genesis', `The cluster is ${kind}. Its genesis is ${genesisHash}.`)];
  }
  if (isClusterLocal) {
    const text = `SOLANA_CLUSTER_IS_LOCAL is 1, but the cluster is ${found}.`;
    return [failure('genesis', text, 'Unset it, or set SOLANA_RPC_URL to the local cluster that you have started.')];
  }
  return [ok('genesis', `The cluster is ${found}, genesis ${genesisHash}.`)];
}

/** Checks that browsers are sent to the same cluster; null without a URL of their own. */
async function checkPublicUrl({ genesisHash, host }: Node, { publicSolanaRpcUrl: url }: Config): Promise<Check | null> {
  if (url === null) return null;
  const rpc = createSolanaRpcFromTransport(openTransport(url));
  try {
    const found = await rpc.getGenesisHash().send();
    if (found === genesisHash) return null;
    const text = `PUBLIC_SOLANA_RPC_URL is of another cluster than ${host}: genesis ${found}, not ${genesisHash}.`;
    return failure('genesis', text, 'Correct it: wallets would check and sign against another chain.');
  } catch (error) {
    const text = `PUBLIC_SOLANA_RPC_URL does not answer this machine: ${reasonOf(error)}.`;
    return warning('genesis', text, 'Open the console and check that it shows balances: browsers use this URL.');
  }
}
