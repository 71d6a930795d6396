// Airdrops a file of recipients: FLYWHEEL_API_KEY=… npx node examples/csv-airdrop.ts recipients.csv wallet.json <mint>
// Each line has an address, a comma and an amount of whole tokens. The same file is never sent twice: its hash is in
// the proofs, and so in the idempotency keys, which `runBatch` derives from the pipelines.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { airdrop, packActions, readMint, runBatch } from '@flywheel/sdk';
import { readAirdropCsv } from '@flywheel/sdk/airdrop-csv';
import { connectFromEnvironment, readWallet } from '@flywheel/sdk/node';

const [csvFile = 'recipients.csv', walletFile = 'wallet.json', mint = ''] = process.argv.slice(2);
const { client, rpcUrl } = await connectFromEnvironment();
const [csv, wallet, { decimals }] = await Promise.all([
  readFile(csvFile, 'utf8'),
  readWallet(walletFile),
  readMint(rpcUrl, mint),
]);
const sha256 = createHash('sha256').update(csv).digest('hex');
const { rows, issues } = readAirdropCsv(csv, { decimals, duplicates: 'refuse' });
if (issues.length > 0) throw new Error(issues.map(({ line, message }) => `Line ${line}: ${message}`).join('\n'));

const pipelines = packActions(rows, {
  type: 'CSV_AIRDROP',
  actionsOf: ({ address, amount }) => [airdrop(address, amount)],
  payloadOf: (packed) => ({ sha256, lines: packed.flatMap(({ lines }) => lines) }),
});
// One init takes at most 1,000 pipelines.
for (let start = 0; start < pipelines.length; start += 1_000) {
  const part = pipelines.slice(start, start + 1_000);
  const { id, status, executeResult } = await runBatch(client, part, { wallet, verify: { rpcUrl, mintAddress: mint } });
  process.stdout.write(`${JSON.stringify({ batchId: id, status, executeResult })}\n`);
  if (status !== 'EXECUTED') throw new Error(`Batch ${id} ended ${status}; what comes after it was not sent.`);
}
