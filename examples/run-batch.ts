// Runs a batch with the SDK, from init to its end: FLYWHEEL_API_KEY=… npx node examples/run-batch.ts wallet.json
// The wallet is the one that registered the project. FLYWHEEL_URL and SOLANA_RPC_URL replace the service and the node
// of npm start.
import { airdrop, burn, pipeline, runBatch } from '@flywheel/sdk';
import { connectFromEnvironment, readWallet } from '@flywheel/sdk/node';

const [walletFile = 'wallet.json'] = process.argv.slice(2);
const { client, rpcUrl } = await connectFromEnvironment();
const wallet = await readWallet(walletFile);

const viewer = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
const watched = pipeline('WATCH_AD', { adId: 'ad-7731', userId: 'u-48211' }, burn(0.25), airdrop(viewer, 1.5));
// The batch is read from the node and compared with the pipeline before the wallet signs.
const { status, executeResult } = await runBatch(client, [watched], { wallet, verify: { rpcUrl } });
process.stdout.write(`${JSON.stringify(executeResult, null, 2)}\n`);
if (status !== 'EXECUTED') process.exitCode = 1;
