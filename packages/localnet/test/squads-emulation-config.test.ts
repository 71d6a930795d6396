import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { permission } from '../src/squads-emulation/program/accounts.ts';
import { compileVaultMessage } from './squads/compile-vault-message.ts';
import {
  configTransactionAccountsClose,
  configTransactionCreate,
  configTransactionExecute,
  multisigAddMember,
  proposalCreate,
  proposalVote,
} from './squads/instructions.ts';
import { customError, openTheatre, type Theatre } from './squads/theatre.ts';
import { memo } from './squads/vault-instructions.ts';

/** The config transaction that puts the stranger in the wallet's place, at the next index, open to votes. */
async function proposeReplacement({ cast, account, mustSend }: Theatre) {
  const { multisig, operator, wallet, stranger } = cast;
  const key = { multisig, index: account(multisig, 'Multisig').transactionIndex + 1n };
  const newMember = { address: stranger, permissions: permission.vote };
  const actions = [{ __kind: 'addMember', newMember } as const, { __kind: 'removeMember', oldMember: wallet } as const];
  await mustSend(
    configTransactionCreate(key, { creator: operator, actions }),
    proposalCreate(key, operator, { draft: false }),
  );
  return key;
}

describe('config transactions in the Squads emulation', () => {
  it('replace a member once both sides have voted, and give their rent back', async () => {
    const theatre = await openTheatre('replace');
    const { cast, account, mustSend, approve, lamports } = theatre;
    const before = lamports(cast.operator);
    const key = await proposeReplacement(theatre);
    assert.equal(account(cast.multisig, 'Multisig').transactionIndex, 1n);
    await approve(key);
    await mustSend(configTransactionExecute(key, cast.operator));
    const { members, staleTransactionIndex } = account(cast.multisig, 'Multisig');
    assert.deepEqual(
      new Set(members.map(({ address }) => address)),
      new Set([cast.operator, cast.company, cast.stranger]),
    );
    assert.equal(staleTransactionIndex, 1n);
    const kept = lamports(cast.multisig);
    await mustSend(configTransactionAccountsClose(key, cast.operator));
    assert.equal(lamports(cast.multisig), kept);
    const fees = before - lamports(cast.operator);
    assert.ok(fees > 0n && fees < 100_000n, String(fees));
  });

  it('make every earlier batch stale: one to be voted on can no longer be, one approved still executes', async () => {
    const theatre = await openTheatre('stale');
    const { cast, send, mustSend, setUp, approve, execute } = theatre;
    const message = compileVaultMessage(cast.vault, [memo('hello', cast.vault)]);
    const [open, approved] = [await setUp(message), await setUp(message)];
    await approve(approved);
    const key = await proposeReplacement(theatre);
    await approve(key);
    await mustSend(configTransactionExecute(key, cast.operator));
    assert.deepEqual((await send(proposalVote('approve', open, cast.company))).err, customError(0, 6007));
    await mustSend(execute(approved, 1, message));
  });

  it('are themselves dead once stale, and can then be closed, approved or not', async () => {
    const theatre = await openTheatre('dead');
    const { cast, send, mustSend, approve } = theatre;
    const first = await proposeReplacement(theatre);
    await approve(first);
    const second = await proposeReplacement(theatre);
    await approve(second);
    assert.deepEqual((await send(configTransactionAccountsClose(first, cast.operator))).err, customError(0, 6008));
    await mustSend(configTransactionExecute(second, cast.operator));
    assert.deepEqual((await send(configTransactionExecute(first, cast.operator))).err, customError(0, 6007));
    await mustSend(configTransactionAccountsClose(first, cast.operator));
  });

  it('are refused with the codes of the real program', async () => {
    const theatre = await openTheatre('refused');
    const { cast, send } = theatre;
    const { multisig, operator, company, wallet } = cast;
    const create = (actions: Parameters<typeof configTransactionCreate>[1]['actions'], creator = operator) =>
      configTransactionCreate({ multisig, index: 1n }, { creator, actions });
    const removal = [{ __kind: 'removeMember', oldMember: wallet } as const];
    const tooLong = [{ __kind: 'setTimeLock', newTimeLockSeconds: 7_776_001 } as const];
    assert.deepEqual((await send(create([]))).err, customError(0, 6022));
    assert.deepEqual((await send(create(tooLong))).err, customError(0, 6030));
    assert.deepEqual((await send(create(removal, company))).err, customError(0, 6004));
    const key = await proposeReplacement(theatre);
    assert.deepEqual((await send(configTransactionExecute(key, operator))).err, customError(0, 6008));
    await theatre.approve(key);
    assert.deepEqual((await send(configTransactionExecute(key, wallet))).err, customError(0, 6004));
    const byAuthority = multisigAddMember({ multisig, configAuthority: operator }, { address: wallet, permissions: 2 });
    assert.deepEqual((await send(byAuthority)).err, customError(0, 6004));
  });

  it('leave the multisig as it was where it would be left without enough voters', async () => {
    const theatre = await openTheatre('voters');
    const { cast, account, mustSend, send, approve } = theatre;
    const key = { multisig: cast.multisig, index: 1n };
    const actions = [{ __kind: 'removeMember', oldMember: cast.wallet } as const];
    await mustSend(
      configTransactionCreate(key, { creator: cast.operator, actions }),
      proposalCreate(key, cast.operator, { draft: false }),
    );
    await approve(key);
    assert.deepEqual((await send(configTransactionExecute(key, cast.operator))).err, customError(0, 6003));
    assert.equal(account(cast.multisig, 'Multisig').members.length, 3);
  });

  it('are controlled by nobody but the members: 6020 where there is a config authority', async () => {
    const theatre = await openTheatre('controlled', { founding: ({ operator }) => ({ configAuthority: operator }) });
    const { multisig, operator, wallet } = theatre.cast;
    const actions = [{ __kind: 'removeMember', oldMember: wallet } as const];
    const create = configTransactionCreate({ multisig, index: 1n }, { creator: operator, actions });
    assert.deepEqual((await theatre.send(create)).err, customError(0, 6020));
  });
});
