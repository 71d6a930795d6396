import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CliError } from '../src/errors.ts';
import { readWallet } from '../src/files.ts';
import { makeTemporaryFolder, newKeypairBytes, writeWallet } from './wallet-files.ts';

describe('readWallet', () => {
  it('reads a Solana CLI keypair file', async () => {
    await using folder = await makeTemporaryFolder();
    const { file, signer } = await writeWallet(folder);
    assert.equal((await readWallet(file)).address, signer.address);
  });

  it('rejects other files, says what it expects, and never quotes the file', async () => {
    await using folder = await makeTemporaryFolder();
    const bytes = [...newKeypairBytes()];
    const [, ...short] = bytes;
    const contents: [string, RegExp][] = [
      ['', /found something else/],
      ['{"secret":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"}', /found something else/],
      [JSON.stringify(short), /64 numbers from 0 to 255, found 63 values/],
      [JSON.stringify([256, ...short]), /64 numbers from 0 to 255/],
      [JSON.stringify([bytes[0] === 7 ? 8 : 7, ...short]), /its public key does not match its private key/],
    ];
    for (const [content, pattern] of contents) {
      const file = await folder.write('bad.json', content);
      await assert.rejects(readWallet(file), (error) => {
        assert.ok(error instanceof CliError && error.code === 'ERR_WALLET');
        assert.match(error.message, pattern);
        assert.ok(!error.message.includes(short.join(',')) && !error.message.includes('4vJ9'));
        return true;
      });
    }
  });

  it('says how to create a wallet if there is none', async () => {
    await assert.rejects(readWallet('/nowhere/wallet.json'), {
      message:
        'Cannot read the wallet /nowhere/wallet.json. Create one with node examples/new-wallet.js /nowhere/wallet.json or solana-keygen new -o /nowhere/wallet.json.',
    });
    await assert.rejects(readWallet("/no where/ann's.json"), {
      message: String.raw`Cannot read the wallet /no where/ann's.json. Create one with node examples/new-wallet.js '/no where/ann'\''s.json' or solana-keygen new -o '/no where/ann'\''s.json'.`,
    });
  });

  it('advises nothing that could replace a wallet which cannot be read', async () => {
    await assert.rejects(readWallet('/'), (error) => {
      assert.ok(error instanceof CliError && error.code === 'ERR_WALLET');
      assert.match(error.message, /^Cannot read the wallet \/: EISDIR: [^.]*\.$/);
      return true;
    });
  });
});
