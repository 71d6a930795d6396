// Approves a batch of another program within its own limits, with a key that never leaves its key service:
// FLYWHEEL_API_KEY=… KMS_URL=… npx node examples/approve-with-kms.ts <batch id> <wallet address> <vault address>
// This key service accepts bytes by POST and answers their Ed25519 signature, 64 bytes. Put your cloud's client in its
// place.
import { byteSigner, verifyAndSign } from '@flywheel/sdk';
import { connectFromEnvironment } from '@flywheel/sdk/node';

const [batchId = '', walletAddress = '', vaultAddress = ''] = process.argv.slice(2);
const { client, rpcUrl } = await connectFromEnvironment();
const wallet = byteSigner(walletAddress, async (message) => {
  const response = await fetch(process.env.KMS_URL ?? '', { method: 'POST', body: new Uint8Array(message) });
  return new Uint8Array(await response.arrayBuffer());
});

const batch = await client.getBatch(batchId, { include: ['pipelines', 'approval'] });
const { pipelines = [], proposalApproveTx = '' } = batch;
const moves = pipelines.flatMap(({ actions }) => actions.map((action) => ('amount' in action ? action.amount : 0)));
const tokens = moves.reduce((sum, amount) => sum + amount, 0);
if (tokens > 10_000) throw new Error(`Batch ${batchId} moves ${tokens} tokens: a person must approve it.`);
// Before the key service signs, the chain must hold what the service says that the batch does.
const verified = { ...batch, vaultAddress, pipelines };
const signedTx = await verifyAndSign(rpcUrl, { wallet, proposalApproveTx, batch: verified });
process.stdout.write(`${JSON.stringify(await client.executeBatch({ batchId, signedTx }))}\n`);
