import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createProject, type ProjectWorld } from '@flywheel/testing/project';
import { type Address, createKeyPairSignerFromPrivateKeyBytes, getAddressEncoder } from '@solana/kit';
import type { ScratchService } from './scratch-service.ts';

/** Result of the tutorial: a project with a token, a vault that can pay, and files with their addresses. */
export interface ScratchProject {
  readonly apiKey: string;
  readonly walletFile: string;
  readonly mintAddress: string;
  readonly vaultAddress: string;
  /** Variables that the tutorial sets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Creates a project and writes its files into an opened directory. */
export async function createScratchProject(
  { url, rpcUrl }: Pick<ScratchService, 'url' | 'rpcUrl'>,
  directory: string,
): Promise<ScratchProject> {
  const keyBytes = crypto.getRandomValues(new Uint8Array(32));
  const wallet = await createKeyPairSignerFromPrivateKeyBytes(keyBytes);
  const walletFile = join(directory, '.flywheel/wallet.json');
  // solana-keygen's format: the private key, then the address.
  await writeFile(walletFile, JSON.stringify([...keyBytes, ...getAddressEncoder().encode(wallet.address)]));
  const project = await createProject({ url, localnet: { bank: bankAt(rpcUrl) } }, { wallet });
  await writeFile(join(directory, '.flywheel/project.json'), JSON.stringify(project));
  const { apiKey, vaultAddress, mint: mintAddress } = project;
  return {
    apiKey,
    walletFile,
    mintAddress,
    vaultAddress,
    environment: { FLYWHEEL_API_KEY: apiKey, VAULT: vaultAddress, MINT: mintAddress },
  };
}

/** Calls the bank of a cluster in another process. */
function bankAt(rpcUrl: string): ProjectWorld['localnet']['bank'] {
  const call = async (method: string, params: Readonly<Record<string, unknown>>) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] });
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = JSON.parse(await response.text());
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  return {
    createMint: async (decimals, token2022) => (await call('localnet_createMint', { decimals, token2022 })).mint,
    airdrop: async (address, lamports) => call('localnet_fund', { address, lamports: Number(lamports) }),
    mintTo: async (mint: Address, address: Address, amount: bigint) =>
      call('localnet_fund', { address, mint, amount: String(amount) }),
  };
}
