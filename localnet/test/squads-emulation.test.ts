import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instruction } from '@solana/kit';
import { getTokenDecoder } from '@solana-program/token';
import { createSquadsEmulation } from '../src/squads-emulation/index.ts';
import { createCast } from './squads/cast.ts';
import { compileVaultMessage } from './squads/compile-vault-message.ts';
import {
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  multisigCreateV2,
  proposalActivate,
  proposalCreate,
  proposalVote,
  vaultBatchTransactionAccountClose,
} from './squads/instructions.ts';
import { setStage } from './squads/stage.ts';
import { buildTransaction } from './squads/transaction.ts';
import { airdrop, burn, memo, tokenAccountOf } from './squads/vault-instructions.ts';

describe('the Squads emulation', () => {
  it('takes a batch from creation to closed accounts', async () => {
    const cast = await createCast('scripted');
    const svm = setStage(cast);
    const runtime = createSquadsEmulation(svm);
    const {
      operator,
      company,
      wallet,
      multisig,
      vault,
      tokens: [token],
      recipients: [recipient = operator],
    } = cast;
    const send = async (...instructions: Instruction[]) => {
      const r = await runtime.execute(buildTransaction(svm, { feePayer: operator, instructions }));
      assert.equal(r.err, null);
      return r;
    };
    await send(
      multisigCreateV2({
        createKey: cast.createKey,
        creator: operator,
        treasury: cast.treasury,
        threshold: 2,
        rentCollector: operator,
        members: [
          { address: operator, permissions: 5 },
          { address: company, permissions: 2 },
          { address: wallet, permissions: 2 },
        ],
      }),
    );
    const key = { multisig, index: 1n };
    const m = compileVaultMessage(vault, [
      memo('hello', vault),
      burn(cast, token, 10n),
      ...(await airdrop(cast, token, { recipient, amount: 7n })),
    ]);
    await send(
      batchCreate(key, operator),
      proposalCreate(key, operator),
      batchAddTransaction(key, { position: 1, member: operator, message: m.bytes }),
      proposalActivate(key, operator),
    );
    await send(proposalVote('approve', key, company), proposalVote('approve', key, wallet));
    await send(batchExecuteTransaction(key, { position: 1, member: operator, remaining: m.remaining }));
    const account = svm.getAccount(await tokenAccountOf(token, recipient));
    assert.ok(account.exists);
    assert.equal(getTokenDecoder().decode(account.data).amount, 7n);
    await send(vaultBatchTransactionAccountClose(key, 1, operator), batchAccountsClose(key, operator));
  });
});
