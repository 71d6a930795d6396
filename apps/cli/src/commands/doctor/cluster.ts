import { publicClusterOf } from '@flywheel/protocol';
import type { Config } from '@flywheel/service';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { programConfigAddress, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { createSolanaRpcFromTransport } from '@solana/kit';
import { roughDuration } from '../../format.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';

const NO_DATA = { offset: 0, length: 0 };
/** A healthy node answers within two seconds. */
const TIMEOUT_MS = 5_000;

/** Checks that the cluster answers, has the Squads program, and has about the same time as this machine. */
export async function checkCluster(rpcUrl: string, config: Config): Promise<Check[]> {
  const { host } = new URL(rpcUrl);
  const transport = createRpcTransport({ url: rpcUrl, timeoutMs: TIMEOUT_MS, maxAttempts: 1 });
  const rpc = createSolanaRpcFromTransport(transport);
  try {
    const accounts = [SQUADS_PROGRAM_ADDRESS, await programConfigAddress()];
    const [genesisHash, version, slot, squads] = await Promise.all([
      rpc.getGenesisHash().send(),
      rpc.getVersion().send(),
      rpc.getSlot({ commitment: 'confirmed' }).send(),
      rpc.getMultipleAccounts(accounts, { encoding: 'base64', dataSlice: NO_DATA }).send(),
    ]);
    const blockTime = await rpc.getBlockTime(slot).send();
    const name = publicClusterOf(genesisHash) ?? LOCAL;
    const text = `${host} answers: ${name}, version ${version['solana-core']}, slot ${slot}, genesis ${genesisHash}.`;
    return [
      ok('cluster', text),
      checkProgram(name, squads.value),
      checkClock(Number(blockTime), name),
      ...checkPublicUrl(config, name),
    ];
  } catch (error) {
    const remedy =
      config.solanaRpcUrls === null
        ? 'npm start runs a local cluster; SOLANA_RPC_URL sets another one.'
        : 'Check SOLANA_RPC_URL, and the provider’s status, key and quota.';
    return [failure('cluster', `No cluster answers: ${reasonOf(error)}.`, remedy)];
  }
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
