import { BankError, requestAirdrop } from '@flywheel/localnet';
import { publicClusterOf } from '@flywheel/protocol';
import { createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { createSolanaRpcFromTransport, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { toClusterError } from '../../cluster-error.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';

/** The operator's SOL, the wallet's, and the rent of vault and token accounts. */
const DEMO_LAMPORTS = 4_000_000_000n;

/**
 * Opens the wallet that pays for a demo on a cluster that runs already: the one of the file, or a new one with SOL from the
 * cluster's faucet.
 * @throws CliError if the cluster does not answer, is mainnet, lacks the Squads program, or its faucet gives nothing.
 */
export async function openPayer(rpcUrl: string, file: string | undefined): Promise<KeyPairSigner> {
  await requireDemoCluster(rpcUrl);
  if (file !== undefined) return readWallet(file);
  const payer = await generateKeyPairSigner();
  try {
    await requestAirdrop(rpcUrl, payer.address, DEMO_LAMPORTS);
  } catch (error) {
    if (!(error instanceof BankError)) throw error;
    const advice = 'Name a wallet with 4 SOL of this cluster: --payer FILE.';
    throw new CliError('ERR_CLUSTER', `${error.message} ${advice}`, { cause: error });
  }
  return payer;
}

async function requireDemoCluster(rpcUrl: string): Promise<void> {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  try {
    if (publicClusterOf(await rpc.getGenesisHash().send()) === 'mainnet') {
      throw new CliError(
        'ERR_USAGE',
        'This is mainnet, where the demo would spend SOL that has a value. Name another.',
      );
    }
    const { value: squads } = await rpc.getAccountInfo(SQUADS_PROGRAM_ADDRESS, { encoding: 'base64' }).send();
    if (squads?.executable) return;
  } catch (error) {
    throw error instanceof RpcError ? toClusterError(error, { rpcUrl, method: 'getGenesisHash' }) : error;
  }
  throw new CliError(
    'ERR_CLUSTER',
    `The cluster has no Squads program at ${SQUADS_PROGRAM_ADDRESS}. npm run agave starts a validator that has it.`,
  );
}
