// Runs a batch with the SDK, from init to its end: FLYWHEEL_API_KEY=… npx node examples/run-batch.ts wallet.json
// The wallet is the one that registered the project. FLYWHEEL_URL and SOLANA_RPC_URL replace the service and the node
// of npm start.
import { readFile } from 'node:fs/promises';
import { airdrop, burn, createFlywheelClient, isFlywheelError, pipeline, runBatch } from '@flywheel/sdk';
import { createKeyPairSignerFromBytes } from '@solana/kit';

const [walletFile = 'wallet.json'] = process.argv.slice(2);
const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '' } = process.env;
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;

const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
const client = createFlywheelClient({ url, apiKey });

try {
  const batch = await runBatch(
    client,
    [
      pipeline(
        'WATCH_AD',
        { adId: 'ad-7731', userId: 'u-48211' },
        burn(0.25),
        airdrop('12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9', 1.5),
      ),
    ],
    // The batch is read from the node and compared with the pipelines before the wallet signs.
    { wallet, verify: { rpcUrl: rpcUrls.split(',') }, onProgress: ({ stage }) => process.stderr.write(`${stage}\n`) },
  );
  process.stdout.write(`${JSON.stringify(batch.executeResult, null, 2)}\n`);
} catch (error) {
  // Nothing was sent: deposit what is missing, then run it again.
  if (!isFlywheelError(error, 'ERR_VAULT_UNDERFUNDED')) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
