// Approves a batch of another program within its own limits, with a key that never leaves its key service:
// FLYWHEEL_API_KEY=… KMS_URL=… npx node examples/approve-with-kms.ts <batch id> <wallet address> <vault address>
// This key service accepts bytes by POST and answers their Ed25519 signature, 64 bytes. Put your cloud's client in its
// place.
import { byteSigner, createFlywheelClient, type Pipeline, verifyAndSign } from '@flywheel/sdk';

/** Maximum that this approver signs by itself. */
const MAX_TOKENS_A_BATCH = 10_000;

const [batchId = '', walletAddress = '', vaultAddress = ''] = process.argv.slice(2);
const {
  FLYWHEEL_URL: url = 'http://127.0.0.1:4000',
  FLYWHEEL_API_KEY: apiKey = '',
  KMS_URL: kmsUrl = '',
} = process.env;
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;

const wallet = byteSigner(walletAddress, async (message) => {
  const response = await fetch(kmsUrl, { method: 'POST', body: new Uint8Array(message) });
  if (!response.ok) throw new Error(`The key service answered ${response.status}: ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
});

const client = createFlywheelClient({ url, apiKey });
const batch = await client.getBatch(batchId, { include: ['pipelines', 'approval'] });
const { pipelines = [], proposalApproveTx } = batch;
if (batch.status !== 'FINALIZED' || proposalApproveTx === undefined) {
  throw new Error(`Batch ${batchId} is ${batch.status}: only a FINALIZED batch can be approved.`);
}
if (tokensOf(pipelines) > MAX_TOKENS_A_BATCH) {
  throw new Error(
    `Batch ${batchId} moves ${tokensOf(pipelines)} tokens; a person must approve more than ${MAX_TOKENS_A_BATCH}.`,
  );
}
// Before the key service signs, the chain must hold what the service says that the batch does.
const signedTx = await verifyAndSign(rpcUrls.split(','), {
  wallet,
  proposalApproveTx,
  batch: { ...batch, vaultAddress, pipelines },
});
process.stdout.write(`${JSON.stringify(await client.executeBatch({ batchId, signedTx }))}\n`);

function tokensOf(batchPipelines: readonly Pipeline[]): number {
  return batchPipelines
    .flatMap(({ actions }) => actions)
    .reduce((sum, action) => sum + (action.action === 'MEMO' ? 0 : action.amount), 0);
}
