// Checks a proof on chain without the service, as anyone can.
// npx node examples/verify-proof.ts <signature> <vault address> WATCH_AD '{"adId":"123"}'
import { proof } from '@flywheel/sdk';

const [signature = '', vault = '', type = '', payload = ''] = process.argv.slice(2);
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;

const verdict = await proof.verifyOnChain(rpcUrls.split(','), { type, payload, signature, vault });
process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`);
if (!verdict.isProven) process.exitCode = 1;
