// Airdrops a file of recipients: FLYWHEEL_API_KEY=… npx node examples/csv-airdrop.ts recipients.csv wallet.json <mint>
// Each line has an address, a comma and an amount of whole tokens. The same file is never sent twice: its hash is in
// the proofs, and so in the idempotency keys, which `runBatches` derives from the pipelines. An edited file is another
// airdrop that pays every row again: run the same file to send what is left, and put new rows into one of their own.
import { readFile } from 'node:fs/promises';
import { readMint, runBatches } from '@flywheel/sdk';
import { packAirdropCsv } from '@flywheel/sdk/airdrop-csv';
import { connectFromEnvironment, readWallet } from '@flywheel/sdk/node';

const [csvFile, walletFile, mintAddress] = process.argv.slice(2);
if (!csvFile || !walletFile || !mintAddress) {
  process.stderr.write(
    'Usage: FLYWHEEL_API_KEY=… npx node examples/csv-airdrop.ts <recipients.csv> <wallet.json> <mint>\n',
  );
  process.exit(2);
}
const { client, rpcUrl } = await connectFromEnvironment();
const { decimals } = await readMint(rpcUrl, mintAddress);
const pipelines = await packAirdropCsv(await readFile(csvFile, 'utf8'), { type: 'CSV_AIRDROP', decimals });
const options = { wallet: await readWallet(walletFile), verify: { rpcUrl, mintAddress }, sendRest: true };
for await (const { id, status, executeResult } of runBatches(client, pipelines, options)) {
  process.stdout.write(`${JSON.stringify({ batchId: id, status, executeResult })}\n`);
  // It ends after a batch that was not executed: what comes after that was not sent.
  if (status !== 'EXECUTED') process.exitCode = 1;
}
