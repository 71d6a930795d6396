import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PERMISSION } from '@flywheel/squads';
import { createFixture, customError, type Fixture } from './squads/fixture.ts';
import {
  configTransactionAccountsClose,
  configTransactionCreate,
  configTransactionExecute,
  multisigAddMember,
  proposalCreate,
  proposalVote,
} from './squads/instructions.ts';
import { compileMessage, memo } from './squads/vault-instructions.ts';

/** Creates the config transaction that replaces the wallet by the stranger, at the next index, open to votes. */
async function proposeReplacement({ accounts, account, mustSend }: Fixture) {
  const { multisig, operator, wallet, stranger } = accounts;
  const key = { multisig, index: account(multisig, 'Multisig').transactionIndex + 1n };
  const newMember = { key: stranger, permissions: { mask: PERMISSION.vote } };
  const actions = [{ __kind: 'AddMember', newMember } as const, { __kind: 'RemoveMember', oldMember: wallet } as const];
  await mustSend(
    configTransactionCreate(key, { creator: operator, actions }),
    proposalCreate(key, operator, { draft: false }),
  );
  return key;
}

describe('config transactions in the Squads emulation', () => {
  it('replace a member after both sides have voted, and return their rent', async () => {
    const fixture = await createFixture('replace');
    const { accounts, account, mustSend, approve, lamports } = fixture;
    const before = lamports(accounts.operator);
    const key = await proposeReplacement(fixture);
    assert.equal(account(accounts.multisig, 'Multisig').transactionIndex, 1n);
    await approve(key);
    await mustSend(configTransactionExecute(key, accounts.operator));
    const { members, staleTransactionIndex } = account(accounts.multisig, 'Multisig');
    assert.deepEqual(
      new Set(members.map(({ key: member }) => member)),
      new Set([accounts.operator, accounts.company, accounts.stranger]),
    );
    assert.equal(staleTransactionIndex, 1n);
    const kept = lamports(accounts.multisig);
    await mustSend(configTransactionAccountsClose(key, accounts.operator));
    assert.equal(lamports(accounts.multisig), kept);
    const fees = before - lamports(accounts.operator);
    assert.ok(fees > 0n && fees < 100_000n, String(fees));
  });

  it('make every earlier batch stale: it can no longer be voted on, and still executes if approved', async () => {
    const fixture = await createFixture('stale');
    const { accounts, send, mustSend, setUp, approve, execute } = fixture;
    const message = compileMessage(accounts.vault, [memo('hello', accounts.vault)]);
    const [open, approved] = [await setUp(message), await setUp(message)];
    await approve(approved);
    const key = await proposeReplacement(fixture);
    await approve(key);
    await mustSend(configTransactionExecute(key, accounts.operator));
    assert.deepEqual((await send(proposalVote('approve', open, accounts.company))).err, customError(0, 6007));
    await mustSend(execute(approved, 1, message));
  });

  it('can no longer be executed once stale, and can then be closed, approved or not', async () => {
    const fixture = await createFixture('dead');
    const { accounts, send, mustSend, approve } = fixture;
    const first = await proposeReplacement(fixture);
    await approve(first);
    const second = await proposeReplacement(fixture);
    await approve(second);
    assert.deepEqual((await send(configTransactionAccountsClose(first, accounts.operator))).err, customError(0, 6008));
    await mustSend(configTransactionExecute(second, accounts.operator));
    assert.deepEqual((await send(configTransactionExecute(first, accounts.operator))).err, customError(0, 6007));
    await mustSend(configTransactionAccountsClose(first, accounts.operator));
  });

  it('are rejected with the codes of the real program', async () => {
    const fixture = await createFixture('refused');
    const { accounts, send } = fixture;
    const { multisig, operator, company, wallet } = accounts;
    const create = (actions: Parameters<typeof configTransactionCreate>[1]['actions'], creator = operator) =>
      configTransactionCreate({ multisig, index: 1n }, { creator, actions });
    const removal = [{ __kind: 'RemoveMember', oldMember: wallet } as const];
    const tooLong = [{ __kind: 'SetTimeLock', newTimeLock: 7_776_001 } as const];
    assert.deepEqual((await send(create([]))).err, customError(0, 6022));
    assert.deepEqual((await send(create(tooLong))).err, customError(0, 6030));
    assert.deepEqual((await send(create(removal, company))).err, customError(0, 6004));
    const key = await proposeReplacement(fixture);
    assert.deepEqual((await send(configTransactionExecute(key, operator))).err, customError(0, 6008));
    await fixture.approve(key);
    assert.deepEqual((await send(configTransactionExecute(key, wallet))).err, customError(0, 6004));
    const byAuthority = multisigAddMember(
      { multisig, configAuthority: operator },
      { key: wallet, permissions: { mask: 2 } },
    );
    assert.deepEqual((await send(byAuthority)).err, customError(0, 6004));
  });

  it('do not change a multisig that would be left without enough voters', async () => {
    const fixture = await createFixture('voters');
    const { accounts, account, mustSend, send, approve } = fixture;
    const key = { multisig: accounts.multisig, index: 1n };
    const actions = [{ __kind: 'RemoveMember', oldMember: accounts.wallet } as const];
    await mustSend(
      configTransactionCreate(key, { creator: accounts.operator, actions }),
      proposalCreate(key, accounts.operator, { draft: false }),
    );
    await approve(key);
    assert.deepEqual((await send(configTransactionExecute(key, accounts.operator))).err, customError(0, 6003));
    assert.equal(account(accounts.multisig, 'Multisig').members.length, 3);
  });

  it('are only for members: 6020 with a config authority', async () => {
    const fixture = await createFixture('controlled', {
      multisigInput: ({ operator }) => ({ configAuthority: operator }),
    });
    const { multisig, operator, wallet } = fixture.accounts;
    const actions = [{ __kind: 'RemoveMember', oldMember: wallet } as const];
    const create = configTransactionCreate({ multisig, index: 1n }, { creator: operator, actions });
    assert.deepEqual((await fixture.send(create)).err, customError(0, 6020));
  });
});
