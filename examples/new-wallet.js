// Creates a wallet as a Solana CLI keypair file and prints its address: node examples/new-wallet.js wallet.json
// `solana-keygen new` does the same, if you have Solana's tools. Plain JavaScript: any Node from 20 on runs it.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const [path] = process.argv.slice(2);
if (path === undefined) {
  fail('Name the file to create: node examples/new-wallet.js wallet.json');
} else {
  const { d: privateKey, x: publicKey } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const bytes = [privateKey, publicKey].flatMap((half) => [...Buffer.from(half, 'base64url')]);
  try {
    // An existing wallet is never overwritten, and only its owner can read the file.
    writeFileSync(path, JSON.stringify(bytes), { flag: 'wx', mode: 0o600 });
    process.stdout.write(`${toBase58(Buffer.from(publicKey, 'base64url'))}\n`);
  } catch (error) {
    if (error.code === 'EEXIST') printExisting(path);
    else fail(error.message);
  }
}

/** So that pages which all begin with a wallet can be followed in any order. */
function printExisting(file) {
  let secret;
  try {
    secret = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    secret = null;
  }
  if (!Array.isArray(secret) || secret.length !== 64) return fail(`${file} exists already and is no wallet.`);
  process.stderr.write(`${file} exists already and is kept.\n`);
  process.stdout.write(`${toBase58(Buffer.from(secret.slice(32)))}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

function toBase58(address) {
  const leadingZeros = address.findIndex((byte) => byte !== 0);
  let text = '';
  for (let rest = BigInt(`0x${address.toString('hex')}`); rest > 0n; rest /= 58n)
    text = BASE58[Number(rest % 58n)] + text;
  return BASE58[0].repeat(leadingZeros) + text;
}
