// Creates a wallet as a Solana CLI keypair file and prints its address: node examples/new-wallet.js wallet.json
// `solana-keygen new` of Solana's own tools does the same. Plain JavaScript for Node 20 and later.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import process from 'node:process';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('Say where to: node examples/new-wallet.js wallet.json');
const { d: privateKey, x: publicKey } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
const bytes = [privateKey, publicKey].flatMap((half) => [...Buffer.from(half, 'base64url')]);
// Never overwrites a wallet, and only the owner can read it.
writeFileSync(path, JSON.stringify(bytes), { flag: 'wx', mode: 0o600 });
process.stdout.write(`${toBase58(Buffer.from(publicKey, 'base64url'))}\n`);

function toBase58(address) {
  const leadingZeros = address.findIndex((byte) => byte !== 0);
  let text = '';
  for (let rest = BigInt(`0x${address.toString('hex')}`); rest > 0n; rest /= 58n)
    text = BASE58[Number(rest % 58n)] + text;
  return BASE58[0].repeat(leadingZeros) + text;
}
