import type { Config } from '@flywheel/service';
import { address, createSolanaRpc, getProgramDerivedAddress } from '@solana/kit';
import { roughDuration } from '../../words.ts';
import { type Finding, failure, ok, reasonOf, warning } from './check.ts';

/** Squads v4, the same on every public cluster; multisigs are its accounts. */
const SQUADS_PROGRAM = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
/** Its one global account (Squads v4, `ProgramConfig`). */
const CONFIG_SEEDS = ['multisig', 'program_config'];
const NO_DATA = { offset: 0, length: 0 };
/** A healthy node answers within two seconds. */
const TIMEOUT_MS = 5_000;

/** Whether the cluster answers, which it is, whether it has what is needed, and whether its clock is ours. */
export async function checkCluster(rpcUrl: string, config: Config): Promise<Finding[]> {
  const rpc = createSolanaRpc(rpcUrl);
  const abortSignal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const [programConfig] = await getProgramDerivedAddress({ programAddress: SQUADS_PROGRAM, seeds: CONFIG_SEEDS });
    const [genesisHash, version, slot, squads] = await Promise.all([
      rpc.getGenesisHash().send({ abortSignal }),
      rpc.getVersion().send({ abortSignal }),
      rpc.getSlot({ commitment: 'confirmed' }).send({ abortSignal }),
      rpc
        .getMultipleAccounts([SQUADS_PROGRAM, programConfig], { encoding: 'base64', dataSlice: NO_DATA })
        .send({ abortSignal }),
    ]);
    const blockTime = await rpc.getBlockTime(slot).send({ abortSignal });
    const name = clusterOf(genesisHash);
    const text = `${name} answers at ${new URL(rpcUrl).host}: version ${version['solana-core']}, slot ${slot}, genesis ${genesisHash}.`;
    return [
      ok('cluster', text),
      programFinding(name, squads.value),
      clockFinding(Number(blockTime), name),
      ...addressFinding(config, name),
    ];
  } catch (error) {
    const reason = abortSignal.aborted ? `no answer within ${TIMEOUT_MS / 1_000} s` : reasonOf(error);
    const remedy =
      config.solanaRpcUrl === null
        ? 'npm start runs a local cluster; SOLANA_RPC_URL names another.'
        : 'Check SOLANA_RPC_URL and the provider’s status, key and quota.';
    return [failure('cluster', `No cluster answers at ${new URL(rpcUrl).host}: ${reason}.`, remedy)];
  }
}

/** Genesis hashes (docs.anza.xyz, clusters). */
const CLUSTERS: { readonly [genesisHash: string]: string } = {
  '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d': 'mainnet',
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: 'devnet',
  '4uhcVJyU9pJkvQyUS88uRDiswHXSCkY3zQawwpjk2NsY': 'testnet',
};
const LOCAL = 'a local cluster';

function clusterOf(genesisHash: string): string {
  return CLUSTERS[genesisHash] ?? LOCAL;
}

interface Account {
  readonly executable: boolean;
}

function programFinding(name: string, [program, config]: readonly (Account | null)[]): Finding {
  if (program?.executable) return ok('program', `The Squads program ${SQUADS_PROGRAM} is there.`);
  if (config)
    return ok('program', 'The Squads program is emulated, as our local cluster does without the deployed one.');
  const remedy =
    name === LOCAL
      ? 'flywheel localnet start and npm start bring it; a test validator needs --clone-upgradeable-program.'
      : 'Ask another node: every public cluster has it.';
  return failure('program', `${name} has no Squads program ${SQUADS_PROGRAM}.`, remedy);
}

/** Blocks carry the validators’ time, which lags by seconds. Limits count UTC days, and approvals expire, by our clock. */
const MAX_SKEW_SECONDS = 30;

function clockFinding(blockSeconds: number, name: string): Finding {
  const aheadSeconds = Math.round(Date.now() / 1_000 - blockSeconds);
  const text = `This machine’s clock is ${describeSkew(aheadSeconds)} the cluster’s.`;
  if (Math.abs(aheadSeconds) <= MAX_SKEW_SECONDS) return ok('clock', text);
  const remedy =
    name === LOCAL
      ? 'flywheel localnet warp may have moved it, or its slots stand still: flywheel localnet resume-slots.'
      : 'Let NTP set this machine’s clock, or ask a node that keeps up.';
  return warning('clock', text, remedy);
}

function describeSkew(aheadSeconds: number): string {
  if (aheadSeconds === 0) return 'within a second of';
  return `${roughDuration(Math.abs(aheadSeconds) * 1_000)} ${aheadSeconds > 0 ? 'ahead of' : 'behind'}`;
}

function addressFinding({ publicUrl }: Config, name: string): Finding[] {
  if (publicUrl !== null || name === LOCAL) return [];
  const text = 'PUBLIC_URL is not set: signing in works on loopback only.';
  return [warning('address', text, 'Set PUBLIC_URL to where people reach the service.')];
}
