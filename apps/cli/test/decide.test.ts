import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startLocalnet } from '@flywheel/localnet';
import { generateKeyPairSigner } from '@solana/kit';
import { signDecision } from '../src/commands/company/decide.ts';
import { CliError } from '../src/errors.ts';

it('signDecision refuses a decision that the service would refuse for its length, before the wallet signs', async (t) => {
  const localnet = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
  t.after(() => localnet.stop());
  const wallet = await generateKeyPairSigner();
  const reject = (reason: string) => {
    const { address: multisig } = wallet;
    const content = { pipelines: [] };
    const subject = { type: 'batch', decision: 'reject', reason, multisig, batchIndex: 1n, content } as const;
    return signDecision({ wallet, rpcUrl: localnet.url }, subject);
  };
  // 500 letters are the most that the service takes, of up to three bytes each.
  await assert.rejects(reject('理'.repeat(500)), (error) => {
    assert.ok(error instanceof CliError && error.code === 'ERR_USAGE', String(error));
    assert.match(error.message, /^Nothing was signed\. The text has \d+ bytes; 1000 fit\. Shorten the reason\.$/);
    return true;
  });
  assert.ok((await reject('Not agreed')).signature);
});
