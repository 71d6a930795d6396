import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programConfigAddress } from '../src/squads-emulation/program/addresses.ts';
import { compileVaultMessage } from './squads/compile-vault-message.ts';
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
import { VAULT_TOKENS_BASE_UNITS } from './squads/stage.ts';
import { customError, openTheatre } from './squads/theatre.ts';
import { airdrop, burn, memo } from './squads/vault-instructions.ts';

describe('the Squads emulation', () => {
  it('knows the deployed program configuration by its address', () => {
    assert.equal(programConfigAddress().address, 'BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr');
  });

  for (const program of ['Token', 'Token-2022'] as const) {
    it(`takes a batch of ${program} pipelines from creation to closed accounts`, async () => {
      const theatre = await openTheatre(`a ${program} batch`);
      const { cast, svm, mustSend } = theatre;
      const { operator, vault, recipients } = cast;
      const token = program === 'Token' ? cast.tokens[0] : cast.tokens[1];
      const lamportsBefore = theatre.lamports(operator);
      const messages = await Promise.all(
        recipients.slice(0, 3).map(async (recipient, each) => {
          const gifts = await airdrop(cast, token, { recipient, amount: 7n });
          return compileVaultMessage(vault, [memo(`proof ${each}`, vault), burn(cast, token, 10n), ...gifts]);
        }),
      );
      const key = await theatre.setUp(...messages);
      assert.equal(theatre.account(proposalOf(key), 'Proposal').status.__kind, 'active');
      await theatre.approve(key);
      for (const [each, message] of messages.entries()) {
        assert.equal(theatre.account(proposalOf(key), 'Proposal').status.__kind, 'approved');
        await mustSend(theatre.execute(key, each + 1, message));
      }
      assert.equal(theatre.account(proposalOf(key), 'Proposal').status.__kind, 'executed');
      assert.equal(theatre.supply(token), VAULT_TOKENS_BASE_UNITS - 30n);
      for (const recipient of recipients.slice(0, 3)) assert.equal(await theatre.tokens(token, recipient), 7n);

      const closes = [3, 2, 1].map((position) => vaultBatchTransactionAccountClose(key, position, operator));
      await mustSend(...closes, batchAccountsClose(key, operator));
      for (const closed of [batchOf(key), proposalOf(key), transactionOf(key, 1)]) {
        assert.equal(svm.getAccount(closed).exists, false);
      }
      // Create with proposal, three adds, activation, approval by two signers and the operator, three executions, close.
      const signatures = 1 + 3 + 1 + 3 + 3 + 1;
      assert.equal(lamportsBefore - theatre.lamports(operator), BigInt(signatures) * 5_000n);
    });
  }

  it('runs setup, approval, execution and closing in one v1 transaction', async () => {
    const theatre = await openTheatre('all at once');
    const { cast } = theatre;
    const { operator, company, wallet, vault, multisig, tokens } = cast;
    const key = { multisig, index: 1n };
    const message = compileVaultMessage(vault, [burn(cast, tokens[0], 5n)]);
    const execution = await theatre.sendAs({
      version: 1,
      instructions: [
        batchCreate(key, operator),
        proposalCreate(key, operator),
        batchAddTransaction(key, { position: 1, member: operator, message: message.bytes }),
        proposalActivate(key, operator),
        proposalVote('approve', key, company),
        proposalVote('approve', key, wallet),
        theatre.execute(key, 1, message),
        vaultBatchTransactionAccountClose(key, 1, operator),
        batchAccountsClose(key, operator),
      ],
    });
    assert.equal(execution.err, null);
    assert.equal(theatre.supply(tokens[0]), VAULT_TOKENS_BASE_UNITS - 5n);
    assert.equal(theatre.svm.getAccount(batchOf(key)).exists, false);
  });

  it('makes a config change stale drafts and votes, and lets them be closed', async () => {
    const theatre = await openTheatre('stale', { founding: ({ operator }) => ({ configAuthority: operator }) });
    const { operator, company, multisig, stranger, vault } = theatre.cast;
    const key = await theatre.setUp(compileVaultMessage(vault, [memo('late', vault)]));
    const config = { multisig, configAuthority: operator, rentPayer: operator };
    await theatre.mustSend(multisigAddMember(config, { address: stranger, permissions: 2 }));
    assert.equal(theatre.account(multisig, 'Multisig').members.length, 4);
    assert.deepEqual((await theatre.send(proposalVote('approve', key, company))).err, customError(0, 6007));
    await theatre.mustSend(vaultBatchTransactionAccountClose(key, 1, operator), batchAccountsClose(key, operator));
  });

  it('charges the creation fee that the program configuration names', async () => {
    const theatre = await openTheatre('fee', { stage: { creationFeeLamports: 123_456n } });
    assert.equal(theatre.lamports(theatre.cast.treasury), 1_000_000_000n + 123_456n);
  });
});
