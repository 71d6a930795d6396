import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Instruction } from '@solana/kit';
import { createFixture, customError, type Fixture } from './squads/fixture.ts';
import {
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  instructionNamed,
  proposalActivate,
  proposalCreate,
  proposalVote,
  vaultBatchTransactionAccountClose,
} from './squads/instructions.ts';
import { burn, compileMessage, memo } from './squads/vault-instructions.ts';

/** Opens a fixture with batch 1 as a draft, 2 active, 3 approved and 4 executed, each with one memo. */
async function openFour(name: string) {
  const fixture = await createFixture(name, { multisigInput: () => ({ timeLock: 0 }) });
  const { multisig, operator, vault } = fixture.accounts;
  const message = compileMessage(vault, [memo('hello', vault)]);
  const draft = { multisig, index: 1n };
  const add = batchAddTransaction(draft, { position: 1, member: operator, message: message.bytes });
  await fixture.mustSend(batchCreate(draft, operator), proposalCreate(draft, operator), add);
  const active = await fixture.setUp(message);
  const approved = await fixture.setUp(message);
  await fixture.approve(approved);
  const executed = await fixture.setUp(message);
  await fixture.approve(executed);
  await fixture.mustSend(fixture.execute(executed, 1, message));
  return { fixture, message, draft, active, approved, executed };
}

type Four = Awaited<ReturnType<typeof openFour>>;

const refusals: readonly { what: string; code: number; instruction: (four: Four) => Instruction }[] = [
  {
    what: 'a vote on a draft',
    code: 6008,
    instruction: ({ fixture, draft }) => proposalVote('approve', draft, fixture.accounts.company),
  },
  {
    what: 'a rejection of a draft',
    code: 6008,
    instruction: ({ fixture, draft }) => proposalVote('reject', draft, fixture.accounts.company),
  },
  {
    what: 'an addition to an active batch',
    code: 6008,
    instruction: ({ fixture, active, message }) =>
      batchAddTransaction(active, { position: 2, member: fixture.accounts.operator, message: message.bytes }),
  },
  {
    what: 'an addition at a position not next',
    code: 2006,
    instruction: ({ fixture, draft, message }) =>
      batchAddTransaction(draft, { position: 3, member: fixture.accounts.operator, message: message.bytes }),
  },
  {
    what: 'an addition by somebody who may not initiate',
    code: 6004,
    instruction: ({ fixture, draft, message }) =>
      batchAddTransaction(draft, { position: 2, member: fixture.accounts.company, message: message.bytes }),
  },
  {
    what: 'a batch by a stranger',
    code: 6005,
    instruction: ({ fixture: { accounts } }) =>
      batchCreate({ multisig: accounts.multisig, index: 5n }, accounts.stranger),
  },
  {
    what: 'a batch ahead of the next index',
    code: 2006,
    instruction: ({ fixture: { accounts } }) =>
      batchCreate({ multisig: accounts.multisig, index: 7n }, accounts.operator),
  },
  {
    what: 'a proposal for an index not reached',
    code: 6009,
    instruction: ({ fixture: { accounts } }) =>
      proposalCreate({ multisig: accounts.multisig, index: 9n }, accounts.operator),
  },
  {
    what: 'a second activation',
    code: 6008,
    instruction: ({ fixture, active }) => proposalActivate(active, fixture.accounts.operator),
  },
  {
    what: 'a vote by somebody who may not vote',
    code: 6004,
    instruction: ({ fixture, active }) => proposalVote('approve', active, fixture.accounts.operator),
  },
  {
    what: 'an execution before approval',
    code: 6008,
    instruction: ({ fixture, active, message }) => fixture.execute(active, 1, message),
  },
  {
    what: 'an execution out of order',
    code: 3012,
    instruction: ({ fixture, approved, message }) => fixture.execute(approved, 2, message),
  },
  {
    what: 'an execution without the accounts of its message',
    code: 6013,
    instruction: ({ fixture, approved, message }) =>
      fixture.execute(approved, 1, { ...message, remaining: message.remaining.slice(1) }),
  },
  {
    what: 'an execution with other accounts than its message has',
    code: 6014,
    instruction: ({ fixture, approved, message }) =>
      fixture.execute(approved, 1, { ...message, remaining: message.remaining.toReversed() }),
  },
  {
    what: 'a cancellation of what is not approved',
    code: 6008,
    instruction: ({ fixture, active }) => proposalVote('cancel', active, fixture.accounts.company),
  },
  {
    what: 'closing a transaction of an approved batch',
    code: 6008,
    instruction: ({ fixture, approved }) => vaultBatchTransactionAccountClose(approved, 1, fixture.accounts.operator),
  },
  {
    what: 'closing into another than the rent collector',
    code: 6033,
    instruction: ({ fixture, executed }) => vaultBatchTransactionAccountClose(executed, 1, fixture.accounts.company),
  },
  {
    what: 'closing a batch that is not empty',
    code: 6038,
    instruction: ({ fixture, executed }) => batchAccountsClose(executed, fixture.accounts.operator),
  },
  {
    what: 'an instruction that the program does not have',
    code: 101,
    instruction: () => instructionNamed('make_coffee'),
  },
  {
    what: 'an instruction without its arguments',
    code: 102,
    instruction: ({ fixture, draft }) => ({
      ...proposalCreate(draft, fixture.accounts.operator),
      data: proposalCreate(draft, fixture.accounts.operator).data?.slice(0, 9),
    }),
  },
];

describe('the Squads emulation rejects with the code of the real program', () => {
  for (const [each, { what, code, instruction }] of refusals.entries()) {
    it(`${code}: ${what}`, async () => {
      const four = await openFour(`refusal ${each}`);
      const { accounts, send } = four.fixture;
      const harmless = memo('before');
      const { err, logs } = await send(harmless, instruction(four));
      assert.deepEqual(err, customError(1, code));
      assert.ok(
        logs.includes(`Program ${SQUADS_PROGRAM_ADDRESS} failed: custom program error: 0x${code.toString(16)}`),
      );
      assert.ok(logs.some((line) => line.includes(`Error Number: ${code}`)));
      assert.equal(four.fixture.account(accounts.multisig, 'Multisig').transactionIndex, 4n);
    });
  }

  it('6010, 6011, 6012: a repeated vote', async () => {
    const fixture = await createFixture('twice', { multisigInput: twoOfThree });
    const { company, wallet, vault } = fixture.accounts;
    const key = await fixture.setUp(compileMessage(vault, [memo('hello', vault)]));
    const approval = proposalVote('approve', key, company);
    await fixture.mustSend(approval);
    assert.deepEqual((await fixture.send(approval)).err, customError(0, 6010));
    const rejection = proposalVote('reject', key, company);
    await fixture.mustSend(rejection);
    assert.deepEqual((await fixture.send(rejection)).err, customError(0, 6011));
    await fixture.mustSend(approval, proposalVote('approve', key, wallet));
    await fixture.mustSend(proposalVote('cancel', key, company));
    assert.deepEqual((await fixture.send(proposalVote('cancel', key, company))).err, customError(0, 6012));
    assert.deepEqual((await fixture.send(proposalVote('cancel_v2', key, company))).err, customError(0, 6012));
  });

  it('6021: an execution before the end of the time lock', async () => {
    const fixture = await createFixture('time lock', { multisigInput: () => ({ timeLock: 60 }) });
    const { vault } = fixture.accounts;
    const message = compileMessage(vault, [memo('hello', vault)]);
    const key = await fixture.setUp(message);
    await fixture.approve(key);
    assert.deepEqual((await fixture.send(fixture.execute(key, 1, message))).err, customError(0, 6021));
    const clock = fixture.svm.getClock();
    clock.unixTimestamp += 60n;
    fixture.svm.setClock(clock);
    await fixture.mustSend(fixture.execute(key, 1, message));
  });

  it('or of a program that the vault called, with the index of the outer instruction', async () => {
    const fixture = await createFixture('too much');
    const { accounts } = fixture;
    const message = compileMessage(accounts.vault, [
      memo('first', accounts.vault),
      burn(accounts, accounts.tokens[0], 10n ** 9n),
    ]);
    const key = await fixture.setUp(message);
    await fixture.approve(key);
    const { err } = await fixture.send(memo('outside'), fixture.execute(key, 1, message));
    // The Token program's InsufficientFunds.
    assert.deepEqual(err, customError(1, 1));
  });

  it('or a clear error for an instruction that only the real program runs, which docs/localnet.md lists', async () => {
    const fixture = await createFixture('beyond');
    const page = await readFile(new URL('../../../docs/localnet.md', import.meta.url), 'utf8');
    const [, list = ''] = /a log line that says so:\n\n((?:- .*\n)+)/.exec(page) ?? [];
    const listed = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const refused: string[] = [];
    const idl = new URL('../idl/squads_multisig_program.json', import.meta.resolve('@sqds/multisig'));
    const { instructions }: { instructions: { name: string }[] } = JSON.parse(await readFile(idl, 'utf8'));
    for (const { name } of instructions) {
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const { err, logs } = await fixture.send(instructionNamed(snake));
      const title = name.replace(/^./, (letter) => letter.toUpperCase());
      if (logs.some((line) => line.includes(`The Squads emulation does not run ${title}.`))) {
        assert.deepEqual(err, { InstructionError: [0, 'UnsupportedProgramId'] });
        refused.push(title);
        // Anchor's code for an instruction that the program does not have.
      } else assert.notDeepEqual(err, customError(0, 101), name);
    }
    assert.ok(refused.length > 0);
    assert.deepEqual(refused.toSorted(), listed.toSorted());
  });

  it('or a clear error for a vault message that calls Squads itself', async () => {
    const fixture = await createFixture('recursion');
    const { vault, multisig } = fixture.accounts;
    const message = compileMessage(vault, [batchCreate({ multisig, index: 2n }, vault)]);
    const key = await fixture.setUp(message);
    await fixture.approve(key);
    const { err, logs } = await fixture.send(fixture.execute(key, 1, message));
    assert.deepEqual(err, { InstructionError: [0, 'UnsupportedProgramId'] });
    assert.ok(logs.some((line) => line.includes('a vault message that calls the Squads program itself')));
  });
});

/** Three voters, so that one rejection does not end the vote. */
function twoOfThree({ operator, company, wallet, stranger }: Fixture['accounts']) {
  const voters = [company, wallet, stranger].map((key) => ({ key, permissions: { mask: 2 } }));
  return { members: [{ key: operator, permissions: { mask: 5 } }, ...voters] };
}
