// Approves a batch that was made elsewhere, with a key that never leaves its key service, within limits of its own:
// FLYWHEEL_API_KEY=… KMS_URL=… node examples/approve-with-kms.ts <batch id> <wallet address> <vault address>
// The key service here takes bytes to sign by POST and answers the 64 bytes of an Ed25519 signature. A cloud's client
// goes in the same place.
import { byteSigner, createFlywheelClient, type Pipeline, verifyAndSign } from '@flywheel/sdk';

/** What this approver lets pass without asking anybody. */
const MAX_TOKENS_A_BATCH = 10_000;

const [batchId = '', walletAddress = '', vaultAddress = ''] = process.argv.slice(2);
const {
  FLYWHEEL_URL: url = 'http://127.0.0.1:4000',
  FLYWHEEL_API_KEY: apiKey = '',
  KMS_URL: kmsUrl = '',
} = process.env;
const { SOLANA_RPC_URL: rpcUrl = 'http://127.0.0.1:8899' } = process.env;

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
// The service says what the batch does; the chain is asked whether that is so, before the key service is.
const signedTx = await verifyAndSign(rpcUrl, {
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
