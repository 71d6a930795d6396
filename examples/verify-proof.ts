// Checks a proof on chain without the service, as anyone can.
// npx node examples/verify-proof.ts <signature> <vault address> WATCH_AD '{"adId":"123"}'
import { proof } from '@flywheel/sdk';

const [signature = '', vault = '', type = '', payload = ''] = process.argv.slice(2);
// 64 and 32 bytes in base58.
if (!/^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(signature) || !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(vault) || type === '') {
  process.stderr.write('Usage: npx node examples/verify-proof.ts <signature> <vault address> <type> <payload>\n');
  process.exit(2);
}
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;

const verdict = await proof.verifyOnChain(rpcUrls.split(','), { type, payload, signature, vault });
process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`);
if (!verdict.isProven) process.exitCode = 1;
