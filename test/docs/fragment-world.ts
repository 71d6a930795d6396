// Names that the prose of a page introduces and its fragments use. Imported by programs that the test writes.
import { airdrop, type BatchProgress, burn, createFlywheelClient, type Pipeline, pipeline } from '@flywheel/sdk';
import { readWallet } from '@flywheel/sdk/node';

const given = JSON.parse(process.env.FRAGMENT_PROJECT ?? '{}');

export const url: string = given.url;
export const rpcUrl: string = given.rpcUrl;
export const apiKey: string = given.apiKey;
export const vaultAddress: string = given.vaultAddress;
export const mintAddress: string = given.mintAddress;
export const walletFile: string = given.walletFile;
export const wallet = await readWallet(walletFile);
export const customer = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
export const client = createFlywheelClient({ url, apiKey });
export const orderId: string = crypto.randomUUID();
export const pipelines: Pipeline[] = [pipeline('PRODUCT_PURCHASE', { orderId }, burn('0.5'), airdrop(customer, '1.5'))];

export function onProgress(_progress: BatchProgress): void {
  return;
}

export async function tellTreasury(message: string): Promise<void> {
  process.stderr.write(`${message}\n`);
}
