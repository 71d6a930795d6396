import type { ProjectSummary } from '@flywheel/api';
import { messageOf } from '@flywheel/protocol';
import { type BatchProgress, isFlywheelError, readMint, type VerifyOptions } from '@flywheel/sdk';
import { chooseNode } from '@flywheel/solana-rpc';
import { type Context, type RpcUrlOption, trustedRpcUrls, type UrlOption } from './context.ts';
import { CliError } from './errors.ts';
import { openPins, type TrustOption, withPin } from './pins.ts';

export interface BatchVerification {
  readonly verify: VerifyOptions;
  /** Keeps the multisig of a verified batch. @returns notes about what is new. */
  readonly keep: (event: BatchProgress) => readonly string[];
}

interface ProjectToVerify {
  /** The project as the service names it; null if it is not known, and then the node is not checked. */
  readonly project: Pick<ProjectSummary, 'vaultAddress' | 'token'> | null;
  /** Address of the wallet that signs. */
  readonly wallet: string;
}

/**
 * Determines what the wallet's signature is verified against. It reads the project's mint at the node, so that a node that
 * does not answer, or is of another cluster, is an error before anything is created. What this computer knows of the
 * wallet's multisig replaces what the service says.
 * @throws FlywheelError if the node does not answer, CliError `ERR_CLUSTER` if it does not have the mint, `ERR_PIN` if the
 * service shows another vault than this computer knows.
 */
export async function openVerification(
  context: Context,
  { project, wallet }: ProjectToVerify,
  options: UrlOption & RpcUrlOption & TrustOption,
): Promise<BatchVerification> {
  // Each batch is verified at the first healthy one: a command may take long.
  const rpcUrl = await trustedRpcUrls(context, options);
  const node = await chooseNode(rpcUrl);
  if (project !== null) await requireMint(node, project.token.mint);
  const pins = await openPins(context, options, node);
  const claimed = project && { vaultAddress: project.vaultAddress, mintAddress: project.token.mint };
  const { trust = [] } = options;
  const pin = await pins.findMultisig(wallet, claimed, trust);
  const known = claimed !== null && trust.includes(claimed.vaultAddress) ? { vaultAddress: claimed.vaultAddress } : {};
  return {
    verify: withPin({ rpcUrl, ...known, ...(claimed && { mintAddress: claimed.mintAddress }) }, pin),
    keep: (event) => (event.stage === 'verified' ? pins.keepVerified(wallet, event) : []),
  };
}

async function requireMint(rpcUrl: string, mint: string): Promise<void> {
  try {
    await readMint(rpcUrl, mint);
  } catch (cause) {
    if (isFlywheelError(cause)) throw cause;
    const reason = messageOf(cause);
    const message = `${new URL(rpcUrl).host} does not have the project’s token: ${reason} Set SOLANA_RPC_URL to a node of the service’s cluster.`;
    throw new CliError('ERR_CLUSTER', message, { cause });
  }
}
