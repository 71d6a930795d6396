import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programConfigAddress } from '../src/squads-emulation/program/addresses.ts';
import { createFixture, customError } from './squads/fixture.ts';
import {
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  batchOf,
  multisigAddMember,
  proposalActivate,
  proposalCreate,
  proposalOf,
  proposalVote,
  transactionOf,
  vaultBatchTransactionAccountClose,
} from './squads/instructions.ts';
import { VAULT_TOKENS_BASE_UNITS } from './squads/setup.ts';
import { airdrop, burn, compileMessage, memo } from './squads/vault-instructions.ts';

describe('the Squads emulation', () => {
  it('has the deployed program configuration at its address', () => {
    assert.equal(programConfigAddress().address, 'BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr');
  });

  for (const program of ['Token', 'Token-2022'] as const) {
    it(`runs a batch of ${program} pipelines from creation to closed accounts`, async () => {
      const fixture = await createFixture(`a ${program} batch`);
      const { accounts, svm, mustSend } = fixture;
      const { operator, vault, recipients } = accounts;
      const token = program === 'Token' ? accounts.tokens[0] : accounts.tokens[1];
      const lamportsBefore = fixture.lamports(operator);
      const messages = await Promise.all(
        recipients.slice(0, 3).map(async (recipient, each) => {
          const gifts = await airdrop(accounts, token, { recipient, amount: 7n });
          return compileMessage(vault, [memo(`proof ${each}`, vault), burn(accounts, token, 10n), ...gifts]);
        }),
      );
      const key = await fixture.setUp(...messages);
      assert.equal(fixture.account(proposalOf(key), 'Proposal').status.__kind, 'Active');
      await fixture.approve(key);
      for (const [each, message] of messages.entries()) {
        assert.equal(fixture.account(proposalOf(key), 'Proposal').status.__kind, 'Approved');
        await mustSend(fixture.execute(key, each + 1, message));
      }
      assert.equal(fixture.account(proposalOf(key), 'Proposal').status.__kind, 'Executed');
      assert.equal(fixture.supply(token), VAULT_TOKENS_BASE_UNITS - 30n);
      for (const recipient of recipients.slice(0, 3)) assert.equal(await fixture.tokens(token, recipient), 7n);

      const closes = [3, 2, 1].map((position) => vaultBatchTransactionAccountClose(key, position, operator));
      await mustSend(...closes, batchAccountsClose(key, operator));
      for (const closed of [batchOf(key), proposalOf(key), transactionOf(key, 1)]) {
        assert.equal(svm.getAccount(closed).exists, false);
      }
      // Create with proposal, three adds, activation, approval by two signers and the operator, three executions, close.
      const signatures = 1 + 3 + 1 + 3 + 3 + 1;
      assert.equal(lamportsBefore - fixture.lamports(operator), BigInt(signatures) * 5_000n);
    });
  }

  it('runs setup, approval, execution and closing in one v1 transaction', async () => {
    const fixture = await createFixture('all at once');
    const { accounts } = fixture;
    const { operator, company, wallet, vault, multisig, tokens } = accounts;
    const key = { multisig, index: 1n };
    const message = compileMessage(vault, [burn(accounts, tokens[0], 5n)]);
    const execution = await fixture.sendAs({
      version: 1,
      instructions: [
        batchCreate(key, operator),
        proposalCreate(key, operator),
        batchAddTransaction(key, { position: 1, member: operator, message: message.bytes }),
        proposalActivate(key, operator),
        proposalVote('approve', key, company),
        proposalVote('approve', key, wallet),
        fixture.execute(key, 1, message),
        vaultBatchTransactionAccountClose(key, 1, operator),
        batchAccountsClose(key, operator),
      ],
    });
    assert.equal(execution.err, null);
    assert.equal(fixture.supply(tokens[0]), VAULT_TOKENS_BASE_UNITS - 5n);
    assert.equal(fixture.svm.getAccount(batchOf(key)).exists, false);
  });

  it('makes drafts and votes stale after a config change, and lets them be closed', async () => {
    const fixture = await createFixture('stale', { multisigInput: ({ operator }) => ({ configAuthority: operator }) });
    const { operator, company, multisig, stranger, vault } = fixture.accounts;
    const key = await fixture.setUp(compileMessage(vault, [memo('late', vault)]));
    const config = { multisig, configAuthority: operator, rentPayer: operator };
    await fixture.mustSend(multisigAddMember(config, { key: stranger, permissions: { mask: 2 } }));
    assert.equal(fixture.account(multisig, 'Multisig').members.length, 4);
    assert.deepEqual((await fixture.send(proposalVote('approve', key, company))).err, customError(0, 6007));
    await fixture.mustSend(vaultBatchTransactionAccountClose(key, 1, operator), batchAccountsClose(key, operator));
  });

  it('charges the creation fee of the program configuration', async () => {
    const fixture = await createFixture('fee', { svmOptions: { creationFeeLamports: 123_456n } });
    assert.equal(fixture.lamports(fixture.accounts.treasury), 1_000_000_000n + 123_456n);
  });
});
