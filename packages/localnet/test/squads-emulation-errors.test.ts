import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instruction } from '@solana/kit';
import { SQUADS_PROGRAM_ADDRESS } from '../src/squads-emulation/program/addresses.ts';
import { compileVaultMessage } from './squads/compile-vault-message.ts';
import {
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  proposalActivate,
  proposalCreate,
  proposalVote,
  squads,
  vaultBatchTransactionAccountClose,
} from './squads/instructions.ts';
import { customError, openTheatre, type Theatre } from './squads/theatre.ts';
import { burn, memo } from './squads/vault-instructions.ts';

/** A theatre in which batch 1 is a draft, 2 is active, 3 is approved and 4 is executed; each has one memo. */
async function openFour(name: string) {
  const theatre = await openTheatre(name, { founding: () => ({ timeLockSeconds: 0 }) });
  const { multisig, operator, vault } = theatre.cast;
  const message = compileVaultMessage(vault, [memo('hello', vault)]);
  const draft = { multisig, index: 1n };
  const add = batchAddTransaction(draft, { position: 1, member: operator, message: message.bytes });
  await theatre.mustSend(batchCreate(draft, operator), proposalCreate(draft, operator), add);
  const active = await theatre.setUp(message);
  const approved = await theatre.setUp(message);
  await theatre.approve(approved);
  const executed = await theatre.setUp(message);
  await theatre.approve(executed);
  await theatre.mustSend(theatre.execute(executed, 1, message));
  return { theatre, message, draft, active, approved, executed };
}

type Four = Awaited<ReturnType<typeof openFour>>;

const refusals: readonly { what: string; code: number; instruction: (four: Four) => Instruction }[] = [
  {
    what: 'a vote on a draft',
    code: 6008,
    instruction: ({ theatre, draft }) => proposalVote('approve', draft, theatre.cast.company),
  },
  {
    what: 'a rejection of a draft',
    code: 6008,
    instruction: ({ theatre, draft }) => proposalVote('reject', draft, theatre.cast.company),
  },
  {
    what: 'an addition to an active batch',
    code: 6008,
    instruction: ({ theatre, active, message }) =>
      batchAddTransaction(active, { position: 2, member: theatre.cast.operator, message: message.bytes }),
  },
  {
    what: 'an addition at a position not next',
    code: 2006,
    instruction: ({ theatre, draft, message }) =>
      batchAddTransaction(draft, { position: 3, member: theatre.cast.operator, message: message.bytes }),
  },
  {
    what: 'an addition by somebody who may not initiate',
    code: 6004,
    instruction: ({ theatre, draft, message }) =>
      batchAddTransaction(draft, { position: 2, member: theatre.cast.company, message: message.bytes }),
  },
  {
    what: 'a batch by a stranger',
    code: 6005,
    instruction: ({ theatre: { cast } }) => batchCreate({ multisig: cast.multisig, index: 5n }, cast.stranger),
  },
  {
    what: 'a batch ahead of the next index',
    code: 2006,
    instruction: ({ theatre: { cast } }) => batchCreate({ multisig: cast.multisig, index: 7n }, cast.operator),
  },
  {
    what: 'a proposal for an index not reached',
    code: 6009,
    instruction: ({ theatre: { cast } }) => proposalCreate({ multisig: cast.multisig, index: 9n }, cast.operator),
  },
  {
    what: 'a second activation',
    code: 6008,
    instruction: ({ theatre, active }) => proposalActivate(active, theatre.cast.operator),
  },
  {
    what: 'a vote by somebody who may not vote',
    code: 6004,
    instruction: ({ theatre, active }) => proposalVote('approve', active, theatre.cast.operator),
  },
  {
    what: 'an execution before approval',
    code: 6008,
    instruction: ({ theatre, active, message }) => theatre.execute(active, 1, message),
  },
  {
    what: 'an execution out of order',
    code: 3012,
    instruction: ({ theatre, approved, message }) => theatre.execute(approved, 2, message),
  },
  {
    what: 'an execution without the accounts of its message',
    code: 6013,
    instruction: ({ theatre, approved, message }) =>
      theatre.execute(approved, 1, { ...message, remaining: message.remaining.slice(1) }),
  },
  {
    what: 'an execution with other accounts than its message has',
    code: 6014,
    instruction: ({ theatre, approved, message }) =>
      theatre.execute(approved, 1, { ...message, remaining: message.remaining.toReversed() }),
  },
  {
    what: 'a cancellation of what is not approved',
    code: 6008,
    instruction: ({ theatre, active }) => proposalVote('cancel', active, theatre.cast.company),
  },
  {
    what: 'closing a transaction of an approved batch',
    code: 6008,
    instruction: ({ theatre, approved }) => vaultBatchTransactionAccountClose(approved, 1, theatre.cast.operator),
  },
  {
    what: 'closing into another than the rent collector',
    code: 6033,
    instruction: ({ theatre, executed }) => vaultBatchTransactionAccountClose(executed, 1, theatre.cast.company),
  },
  {
    what: 'closing a batch that is not empty',
    code: 6038,
    instruction: ({ theatre, executed }) => batchAccountsClose(executed, theatre.cast.operator),
  },
  {
    what: 'an instruction that the program does not have',
    code: 101,
    instruction: () => squads('make_coffee', [], []),
  },
  {
    what: 'an instruction without its arguments',
    code: 102,
    instruction: ({ theatre, draft }) => ({
      ...proposalCreate(draft, theatre.cast.operator),
      data: proposalCreate(draft, theatre.cast.operator).data?.slice(0, 9),
    }),
  },
];

describe('the Squads emulation refuses with the code of the real program', () => {
  for (const [each, { what, code, instruction }] of refusals.entries()) {
    it(`${code}: ${what}`, async () => {
      const four = await openFour(`refusal ${each}`);
      const { cast, send } = four.theatre;
      const harmless = memo('before');
      const { err, logs } = await send(harmless, instruction(four));
      assert.deepEqual(err, customError(1, code));
      assert.ok(
        logs.includes(`Program ${SQUADS_PROGRAM_ADDRESS} failed: custom program error: 0x${code.toString(16)}`),
      );
      assert.ok(logs.some((line) => line.includes(`Error Number: ${code}`)));
      assert.equal(four.theatre.account(cast.multisig, 'Multisig').transactionIndex, 4n);
    });
  }

  it('6010, 6011, 6012: the same vote twice', async () => {
    const theatre = await openTheatre('twice', { founding: twoOfThree });
    const { company, wallet, vault } = theatre.cast;
    const key = await theatre.setUp(compileVaultMessage(vault, [memo('hello', vault)]));
    const approval = proposalVote('approve', key, company);
    await theatre.mustSend(approval);
    assert.deepEqual((await theatre.send(approval)).err, customError(0, 6010));
    const rejection = proposalVote('reject', key, company);
    await theatre.mustSend(rejection);
    assert.deepEqual((await theatre.send(rejection)).err, customError(0, 6011));
    await theatre.mustSend(approval, proposalVote('approve', key, wallet));
    await theatre.mustSend(proposalVote('cancel', key, company));
    assert.deepEqual((await theatre.send(proposalVote('cancel', key, company))).err, customError(0, 6012));
    assert.deepEqual((await theatre.send(proposalVote('cancel_v2', key, company))).err, customError(0, 6012));
  });

  it('6021: an execution before the time lock is over', async () => {
    const theatre = await openTheatre('time lock', { founding: () => ({ timeLockSeconds: 60 }) });
    const { vault } = theatre.cast;
    const message = compileVaultMessage(vault, [memo('hello', vault)]);
    const key = await theatre.setUp(message);
    await theatre.approve(key);
    assert.deepEqual((await theatre.send(theatre.execute(key, 1, message))).err, customError(0, 6021));
    const clock = theatre.svm.getClock();
    clock.unixTimestamp += 60n;
    theatre.svm.setClock(clock);
    await theatre.mustSend(theatre.execute(key, 1, message));
  });

  it('passes on the error of a program that the vault called, with the index of the outer instruction', async () => {
    const theatre = await openTheatre('too much');
    const { cast } = theatre;
    const message = compileVaultMessage(cast.vault, [memo('first', cast.vault), burn(cast, cast.tokens[0], 10n ** 9n)]);
    const key = await theatre.setUp(message);
    await theatre.approve(key);
    const { err } = await theatre.send(memo('outside'), theatre.execute(key, 1, message));
    // The Token program's InsufficientFunds.
    assert.deepEqual(err, customError(1, 1));
  });

  it('answers clearly for an instruction that only the real program runs', async () => {
    const theatre = await openTheatre('beyond');
    const { err, logs } = await theatre.send(squads('vault_transaction_create', [], []));
    assert.deepEqual(err, { InstructionError: [0, 'UnsupportedProgramId'] });
    assert.ok(logs.some((line) => line.includes('The Squads emulation does not run VaultTransactionCreate')));
  });

  it('answers clearly for a vault message that calls Squads itself', async () => {
    const theatre = await openTheatre('recursion');
    const { vault, multisig } = theatre.cast;
    const message = compileVaultMessage(vault, [batchCreate({ multisig, index: 2n }, vault)]);
    const key = await theatre.setUp(message);
    await theatre.approve(key);
    const { err, logs } = await theatre.send(theatre.execute(key, 1, message));
    assert.deepEqual(err, { InstructionError: [0, 'UnsupportedProgramId'] });
    assert.ok(logs.some((line) => line.includes('a vault message that calls the Squads program itself')));
  });
});

/** Three voters, so that one rejection does not end the vote. */
function twoOfThree({ operator, company, wallet, stranger }: Theatre['cast']) {
  const voters = [company, wallet, stranger].map((address) => ({ address, permissions: 2 }));
  return { members: [{ address: operator, permissions: 5 }, ...voters] };
}
