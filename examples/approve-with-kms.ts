// Approves a batch of another program within its own limit, with a key that never leaves its KMS:
// FLYWHEEL_API_KEY=… KMS_URL=… npx node examples/approve-with-kms.ts <batch id> <wallet> <vault> <mint>
// This KMS accepts bytes by POST and answers their Ed25519 signature, 64 bytes. Put your cloud's client in its
// place.
import { approveBatch, type BatchToApprove, byteSigner, totalTokens } from '@flywheel/sdk';
import { connectFromEnvironment } from '@flywheel/sdk/node';

const [id = '', walletAddress = '', vaultAddress = '', mintAddress = ''] = process.argv.slice(2);
const { client, rpcUrl } = await connectFromEnvironment();
const wallet = byteSigner(walletAddress, async (message) => {
  const response = await fetch(process.env.KMS_URL ?? '', { method: 'POST', body: new Uint8Array(message) });
  if (!response.ok) throw new Error(`The KMS answered ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
});
// More than this a person must approve. Before the KMS signs, the chain must hold exactly these pipelines.
const mayApprove = ({ pipelines }: BatchToApprove) => Number(totalTokens(pipelines).total) <= 10_000;
const batch = await approveBatch(client, id, { wallet, verify: { rpcUrl, vaultAddress, mintAddress }, mayApprove });
process.stdout.write(`${JSON.stringify(batch)}\n`);
if (batch.status !== 'EXECUTED') process.exitCode = 1;
