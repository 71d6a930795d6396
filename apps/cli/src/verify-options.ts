import type { ProjectSummary } from '@flywheel/api';
import { isFlywheelError, readMint, type VerifyOptions } from '@flywheel/sdk';
import { type Context, type RpcUrlOption, trustedRpcUrl, type UrlOption } from './context.ts';
import { CliError } from './errors.ts';

/**
 * Determines what the wallet's signature is verified against. It reads the project's mint at the node, so that a node that
 * does not answer, or is of another cluster, is an error before anything is created.
 * @param project null if it is not known; then the node is not checked.
 * @throws FlywheelError if the node does not answer, CliError `ERR_CLUSTER` if it does not have the mint.
 */
export async function verifyOptionsOf(
  context: Context,
  project: Pick<ProjectSummary, 'vaultAddress' | 'token'> | null,
  options: UrlOption & RpcUrlOption,
): Promise<VerifyOptions> {
  const rpcUrl = await trustedRpcUrl(context, options);
  if (project === null) return { rpcUrl };
  const { vaultAddress, token } = project;
  try {
    await readMint(rpcUrl, token.mint);
  } catch (cause) {
    if (isFlywheelError(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${new URL(rpcUrl).host} does not have the project’s token: ${reason} Set SOLANA_RPC_URL to a node of the service’s cluster.`;
    throw new CliError('ERR_CLUSTER', message, { cause });
  }
  return { rpcUrl, vaultAddress, mintAddress: token.mint };
}
