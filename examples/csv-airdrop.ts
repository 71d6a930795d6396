// Airdrops a file of recipients: FLYWHEEL_API_KEY=… npx node examples/csv-airdrop.ts recipients.csv wallet.json
// Each line has an address, a comma and an amount of whole tokens. The same file is never sent twice: its hash is in
// the proofs and makes the idempotency keys.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { airdrop, createFlywheelClient, idempotencyKeyOf, packActions, runBatch } from '@flywheel/sdk';
import { createKeyPairSignerFromBytes, isAddress } from '@solana/kit';

interface Row {
  /** Number of the line, counted from one. */
  readonly line: number;
  readonly recipient: string;
  readonly amount: string;
}

/** Maximum of pipelines in one init. */
const PIPELINES_A_BATCH = 1_000;

const [csvFile = 'recipients.csv', walletFile = 'wallet.json'] = process.argv.slice(2);
const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '' } = process.env;
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;
const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
const client = createFlywheelClient({ url, apiKey });

const csv = await readFile(csvFile, 'utf8');
const sha256 = createHash('sha256').update(csv).digest('hex');
const pipelines = packActions(readRows(csv), {
  type: 'CSV_AIRDROP',
  actionsOf: ({ recipient, amount }) => [airdrop(recipient, amount)],
  payloadOf: (rows) => ({ file: basename(csvFile), sha256, lines: rows.map(({ line }) => line) }),
});

for (let start = 0; start < pipelines.length; start += PIPELINES_A_BATCH) {
  const part = pipelines.slice(start, start + PIPELINES_A_BATCH);
  const { problems } = await client.previewBatch({ pipelines: part });
  for (const { place, message } of problems) process.stderr.write(`${place ?? csvFile}: ${message}\n`);
  const idempotencyKey = await idempotencyKeyOf('csv-airdrop', sha256, String(start));
  const { id, status, executeResult } = await runBatch(client, part, {
    wallet,
    verify: { rpcUrl: rpcUrls.split(',') },
    idempotencyKey,
  });
  process.stdout.write(`${JSON.stringify({ batchId: id, status, executeResult })}\n`);
  if (status !== 'EXECUTED') throw new Error(`Batch ${id} ended ${status}; what comes after it was not sent.`);
}

function readRows(text: string): Row[] {
  return text.split(/\r?\n/).flatMap((content, index) => {
    if (content.trim() === '') return [];
    const line = index + 1;
    const [recipient = '', amount = ''] = content.split(',').map((cell) => cell.trim());
    if (!isAddress(recipient)) throw new Error(`Line ${line}: “${recipient}” is no address.`);
    return [{ line, recipient, amount }];
  });
}
