import { publicClusterOf, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import type { Config } from '@flywheel/service';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { programConfigAddress, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { createSolanaRpcFromTransport } from '@solana/kit';
import { roughDuration } from '../../format.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';

const NO_DATA = { offset: 0, length: 0 };
/** A healthy node answers within two seconds. */
const TIMEOUT_MS = 5_000;

/** Slots behind which Agave calls a node unhealthy (rpc, DEFAULT_HEALTH_CHECK_SLOT_DISTANCE). */
const MAX_SLOTS_BEHIND = 128n;

export interface ClusterChecks {
  readonly checks: readonly Check[];
  /** The first node that answers; the first of the list if none does. */
  readonly rpcUrl: string;
}

/**
 * Checks that the nodes answer and are of one cluster, and that this cluster has the Squads program and about the same time
 * as this machine.
 */
export async function checkCluster(
  rpcUrls: readonly string[],
  config: Config,
  rules: ExposureRules,
): Promise<ClusterChecks> {
  const nodes = await Promise.all(rpcUrls.map(readNode));
  const answering = nodes.filter((node) => 'genesisHash' in node);
  const [first] = answering;
  if (!first) {
    const reasons = nodes.flatMap((node) => ('error' in node ? [node.error] : []));
    const remedy = config.solanaRpcUrls === null ? LOCAL_REMEDY : NODE_REMEDY;
    const check = failure('cluster', `No cluster answers: ${reasons.join('; ')}.`, remedy);
    return { checks: [check], rpcUrl: rpcUrls[0] ?? '' };
  }
  const [newestSlot = 0n] = answering.map(({ slot }) => slot).toSorted((a, b) => Number(b - a));
  const name = publicClusterOf(first.genesisHash) ?? LOCAL;
  const checks = [
    ...nodes.map((node) => checkNode(node, { first, newestSlot, name })),
    checkProgram(name, first.squads),
    checkClock(first.blockSeconds, name),
    ...checkPublicUrl(config, name),
    checkRegistration(config, first, rules),
  ];
  return { checks, rpcUrl: first.url };
}

const LOCAL_REMEDY = 'npm start runs a local cluster; SOLANA_RPC_URL sets another one.';
const NODE_REMEDY = 'Check SOLANA_RPC_URL, and the provider’s status, key and quota.';

interface Node {
  readonly url: string;
  readonly host: string;
  readonly genesisHash: string;
  readonly version: string;
  readonly slot: bigint;
  readonly blockSeconds: number;
  /** The Squads program and its config account. */
  readonly squads: readonly (Account | null)[];
}

async function readNode(url: string): Promise<Node | { readonly host: string; readonly error: string }> {
  const { host } = new URL(url);
  const transport = createRpcTransport({ url, timeoutMs: TIMEOUT_MS, maxAttempts: 1 });
  const rpc = createSolanaRpcFromTransport(transport);
  try {
    const accounts = [SQUADS_PROGRAM_ADDRESS, await programConfigAddress()];
    const [genesisHash, version, slot, squads] = await Promise.all([
      rpc.getGenesisHash().send(),
      rpc.getVersion().send(),
      rpc.getSlot({ commitment: 'confirmed' }).send(),
      rpc.getMultipleAccounts(accounts, { encoding: 'base64', dataSlice: NO_DATA }).send(),
    ]);
    const blockSeconds = Number(await rpc.getBlockTime(slot).send());
    return { url, host, genesisHash, version: version['solana-core'], slot, blockSeconds, squads: squads.value };
  } catch (error) {
    return { host, error: reasonOf(error) };
  }
}

interface Comparison {
  readonly first: Node;
  readonly newestSlot: bigint;
  readonly name: string;
}

/** Checks a node of several. Those behind it in the list replace it, so all must be of one cluster. */
function checkNode(node: Awaited<ReturnType<typeof readNode>>, { first, newestSlot, name }: Comparison): Check {
  const { host } = node;
  if ('error' in node) {
    return warning('cluster', `${host} does not answer: ${node.error}. The other nodes are used.`, NODE_REMEDY);
  }
  const { genesisHash, version, slot } = node;
  if (genesisHash !== first.genesisHash) {
    const text = `${host} is of another cluster than ${first.host}: genesis ${genesisHash}, not ${first.genesisHash}.`;
    return failure('cluster', text, 'Remove one of them from SOLANA_RPC_URL: its answers are about another chain.');
  }
  const behind = newestSlot - slot;
  const place = `slot ${slot}${behind > 0n ? `, ${behind} behind the newest node` : ''}`;
  const text = `${host} answers: ${name}, version ${version}, ${place}, genesis ${genesisHash}.`;
  if (behind <= MAX_SLOTS_BEHIND) return ok('cluster', text);
  return warning(
    'cluster',
    text,
    `Put it behind the others, or replace it: more than ${MAX_SLOTS_BEHIND} is unhealthy.`,
  );
}

const LOCAL = 'a local cluster';

interface Account {
  readonly executable: boolean;
}

function checkProgram(name: string, [program, programConfig]: readonly (Account | null)[]): Check {
  if (program?.executable) return ok('program', `The Squads program ${SQUADS_PROGRAM_ADDRESS} is deployed.`);
  if (programConfig) {
    return ok('program', 'The Squads program is emulated, because the local cluster has no copy of the deployed one.');
  }
  const remedy =
    name === LOCAL
      ? 'flywheel localnet start and npm start include it; a test validator needs --clone-upgradeable-program.'
      : 'Use another node: every public cluster has the program.';
  return failure('program', `The cluster (${name}) has no Squads program ${SQUADS_PROGRAM_ADDRESS}.`, remedy);
}

/** Block times lag by seconds. UTC days of limits and expiries of approvals follow this machine’s clock. */
const MAX_SKEW_SECONDS = 30;

function checkClock(blockSeconds: number, name: string): Check {
  const aheadSeconds = Math.round(Date.now() / 1_000 - blockSeconds);
  const text = `This machine’s clock is ${describeSkew(aheadSeconds)} the cluster’s.`;
  if (Math.abs(aheadSeconds) <= MAX_SKEW_SECONDS) return ok('clock', text);
  const remedy =
    name === LOCAL
      ? 'flywheel localnet warp may have moved it, or its slots are paused: flywheel localnet resume-slots.'
      : 'Synchronize this machine’s clock with NTP, or use a node that keeps up.';
  return warning('clock', text, remedy);
}

function describeSkew(aheadSeconds: number): string {
  if (aheadSeconds === 0) return 'within a second of';
  return `${roughDuration(Math.abs(aheadSeconds) * 1_000)} ${aheadSeconds > 0 ? 'ahead of' : 'behind'}`;
}

function checkPublicUrl({ publicUrl }: Config, name: string): Check[] {
  if (publicUrl !== null || name === LOCAL) return [];
  const text = 'PUBLIC_URL is not set: sign-in works on loopback only.';
  return [warning('address', text, 'Set PUBLIC_URL to the URL at which people reach the service.')];
}

/** The rules of the service about strangers on a cluster that is not local. */
type ExposureRules = Pick<typeof import('@flywheel/service'), 'isLocalCluster' | 'UNBOUNDED_EXPOSURE'>;

/** Checks whose projects are served, and what strangers may lock. */
function checkRegistration(
  { registration, isUnadmittedCapChosen, isClusterLocal, caps, companyOperators }: Config,
  { genesisHash }: Pick<Node, 'genesisHash'>,
  { isLocalCluster, UNBOUNDED_EXPOSURE }: ExposureRules,
): Check {
  const topic = 'registration';
  if (registration !== 'open') {
    const text = `REGISTRATION is ${registration}: projects are served that the company has admitted.`;
    if (companyOperators.size > 0) return ok(topic, text);
    return warning(topic, `${text} COMPANY_OPERATORS is empty, so none can be.`, 'Set COMPANY_OPERATORS.');
  }
  if (!isUnadmittedCapChosen && !isLocalCluster(isClusterLocal, genesisHash)) {
    return failure(topic, UNBOUNDED_EXPOSURE, 'serve and work do not start with these settings.');
  }
  const sol = toDecimal(caps.lockedUnadmittedLamports, SOL_DECIMALS);
  return ok(topic, `REGISTRATION is open: projects that the company has not admitted may lock ${sol} SOL together.`);
}
