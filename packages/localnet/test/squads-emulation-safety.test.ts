import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccountRole, type Address, address, bytesEqual, type Instruction } from '@solana/kit';
import { addressKey, nativeSvm } from '../src/ledger/svm-accounts.ts';
import { transfer } from '../src/squads-emulation/program/call.ts';
import { createFixture, customError, type Fixture, stateOf } from './squads/fixture.ts';
import {
  batchCreate,
  batchOf,
  proposalCreate,
  proposalOf,
  proposalVote,
  transactionOf,
} from './squads/instructions.ts';
import { VAULT_TOKENS_BASE_UNITS } from './squads/setup.ts';
import { buildTransaction } from './squads/transaction.ts';
import { airdrop, burn, compileMessage, memo, tokenAccountOf } from './squads/vault-instructions.ts';

/** Programs whose accounts no transaction can write (agave, reserved_account_keys). */
const RESERVED_PROGRAMS = [
  'Vote111111111111111111111111111111111111111',
  'ZkE1Gama1Proof11111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
].map(address);

/** Opens a fixture with an approved batch of this message. */
async function openApproved(name: string, inner: (fixture: Fixture) => Instruction[] | Promise<Instruction[]>) {
  const fixture = await createFixture(name);
  const message = compileMessage(fixture.accounts.vault, await inner(fixture));
  const key = await fixture.setUp(message);
  await fixture.approve(key);
  return { fixture, accounts: fixture.accounts, key, execution: fixture.execute(key, 1, message) };
}

/** Returns the instruction with its signers as mere accounts, as an attacker without their signatures must send it. */
function unsigned(instruction: Instruction): Instruction {
  const accounts = (instruction.accounts ?? []).map(({ address, role }) => ({
    address,
    role: role & AccountRole.WRITABLE,
  }));
  return { ...instruction, accounts };
}

describe('beside an execution signed by the vault,', () => {
  for (const place of ['before', 'after'] as const) {
    const around = (execution: Instruction, other: Instruction) =>
      place === 'before' ? [other, execution] : [execution, other];
    const index = place === 'before' ? 0 : 1;

    it(`a transfer out of the vault ${place} it fails without the vault's signature`, async () => {
      const { fixture, accounts, execution } = await openApproved(`theft ${place}`, ({ accounts: { vault } }) => [
        memo('x', vault),
      ]);
      const vaultLamports = fixture.lamports(accounts.vault);
      const theft = unsigned(transfer(accounts.vault, accounts.operator, 1_000_000n));
      const { err } = await fixture.send(...around(execution, theft));
      assert.deepEqual(err, { InstructionError: [index, 'MissingRequiredSignature'] });
      assert.equal(fixture.lamports(accounts.vault), vaultLamports);
    });

    it(`a burn of the vault's tokens ${place} it fails without the vault's signature`, async () => {
      const { fixture, accounts, execution } = await openApproved(`arson ${place}`, ({ accounts: { vault } }) => [
        memo('x', vault),
      ]);
      const arson = unsigned(burn(accounts, accounts.tokens[0], 1n));
      const { err } = await fixture.send(...around(execution, arson));
      assert.deepEqual(err, { InstructionError: [index, 'MissingRequiredSignature'] });
      assert.equal(fixture.supply(accounts.tokens[0]), VAULT_TOKENS_BASE_UNITS);
    });
  }

  it('a memo cannot name the vault as its signer', async () => {
    const { fixture, accounts, execution } = await openApproved('forgery', ({ accounts: { vault } }) => [
      memo('x', vault),
    ]);
    const { err } = await fixture.send(execution, unsigned(memo('forged', accounts.vault)));
    assert.deepEqual(err, { InstructionError: [1, 'MissingRequiredSignature'] });
  });

  it('a deposit into the vault succeeds', async () => {
    const { fixture, accounts, execution } = await openApproved('deposit', ({ accounts: { vault } }) => [
      memo('x', vault),
    ]);
    const before = fixture.lamports(accounts.vault);
    await fixture.mustSend(
      transfer(accounts.operator, accounts.vault, 5n),
      execution,
      transfer(accounts.operator, accounts.vault, 6n),
    );
    assert.equal(fixture.lamports(accounts.vault) - before, 11n);
  });

  it("the vault cannot spend the fee payer's lamports unless the fee payer signs in its message", async () => {
    const { fixture, accounts, execution } = await openApproved('overreach', ({ accounts: { operator, company } }) => [
      unsigned(transfer(operator, company, 1_000_000n)),
    ]);
    const before = fixture.lamports(accounts.company);
    assert.deepEqual((await fixture.send(execution)).err, { InstructionError: [0, 'MissingRequiredSignature'] });
    assert.equal(fixture.lamports(accounts.company), before);
  });

  it('the vault cannot change an account that is readonly in its message, even if it is writable in the transaction', async () => {
    const { fixture, accounts, execution } = await openApproved('readonly', ({ accounts: { vault, recipients } }) => {
      const payment = transfer(vault, recipients[0] ?? vault, 1_000_000n);
      const [from, to] = payment.accounts ?? [];
      return [
        {
          ...payment,
          accounts: [from, to && { ...to, role: AccountRole.READONLY }].filter((meta) => meta !== undefined),
        },
      ];
    });
    const [recipient = accounts.operator] = accounts.recipients;
    const { err } = await fixture.send(execution, transfer(accounts.operator, recipient, 1_000_000n));
    assert.deepEqual(err, { InstructionError: [0, 'ReadonlyLamportChange'] });
    assert.equal(fixture.lamports(recipient), 0n);
  });

  for (const program of RESERVED_PROGRAMS) {
    it(`the vault cannot write to ${program}, which Agave reserves`, async () => {
      const { fixture, execution } = await openApproved(program, ({ accounts: { vault } }) => [
        transfer(vault, program, 5n),
      ]);
      assert.deepEqual((await fixture.send(execution)).err, customError(0, 6014));
    });
  }

  it('the batch and the proposal cannot be passed on as writable', async () => {
    const { fixture, execution } = await openApproved('protected', ({ accounts: { multisig } }) => [
      { ...memo('x'), accounts: [{ address: batchOf({ multisig, index: 1n }), role: AccountRole.WRITABLE }] },
    ]);
    assert.deepEqual((await fixture.send(execution)).err, customError(0, 6029));
  });
});

describe('a failed transaction', () => {
  it('changes nothing but the fee, also if earlier instructions had run', async () => {
    const { fixture, accounts, key, execution } = await openApproved(
      'rollback',
      async ({ accounts: { vault, tokens, recipients }, accounts }) => [
        memo('x', vault),
        burn(accounts, tokens[0], 5n),
        ...(await airdrop(accounts, tokens[0], { recipient: recipients[0] ?? vault, amount: 5n })),
      ],
    );
    const addresses = await involved(fixture, key);
    const before = stateOf(fixture.svm, addresses);
    const payerBefore = fixture.lamports(accounts.operator);
    const { err } = await fixture.send(
      transfer(accounts.operator, accounts.stranger, 7n),
      execution,
      proposalVote('cancel', key, accounts.company),
    );
    assert.deepEqual(err, customError(2, 6008));
    assert.deepEqual(stateOf(fixture.svm, addresses), before);
    assert.equal(payerBefore - fixture.lamports(accounts.operator), 2n * 5_000n);
    await fixture.mustSend(execution);
  });

  it('leaves no accounts that it had created', async () => {
    const fixture = await createFixture('unborn');
    const { accounts } = fixture;
    const key = { multisig: accounts.multisig, index: 1n };
    const { err } = await fixture.send(
      batchCreate(key, accounts.operator),
      proposalCreate(key, accounts.operator),
      proposalVote('approve', key, accounts.company),
    );
    assert.deepEqual(err, customError(2, 6008));
    assert.equal(fixture.svm.getAccount(batchOf(key)).exists, false);
    assert.equal(fixture.svm.getAccount(proposalOf(key)).exists, false);
    assert.equal(fixture.account(accounts.multisig, 'Multisig').transactionIndex, 0n);
  });

  it('is undone completely, with its fee, if the emulation throws', async () => {
    const { fixture, accounts, key, execution } = await openApproved(
      'thrown',
      ({ accounts: { vault, tokens }, accounts }) => [memo('x', vault), burn(accounts, tokens[0], 5n)],
    );
    const addresses = [...(await involved(fixture, key)), accounts.operator];
    const before = stateOf(fixture.svm, addresses);
    const { svm } = fixture;
    const native = nativeSvm(svm);
    const { setAccount } = native;
    const cursor = addressKey(batchOf(key));
    native.setAccount = (bytes, account) => {
      // The batch's cursor is written after the vault's instructions have run.
      if (bytesEqual(bytes, cursor)) {
        native.setAccount = setAccount;
        throw new Error('The disk is full.');
      }
      setAccount.call(native, bytes, account);
    };
    await assert.rejects(fixture.send(execution), /The disk is full/);
    assert.deepEqual(stateOf(svm, addresses), before);
    await fixture.mustSend(execution);
  });

  it('charges nothing if the fee payer cannot pay', async () => {
    const { fixture, accounts, key } = await openApproved('poor', ({ accounts: { vault } }) => [memo('x', vault)]);
    const [recipient = accounts.operator] = accounts.recipients;
    const vote = proposalVote('cancel', key, accounts.company);
    const transaction = buildTransaction(fixture.svm, { feePayer: recipient, instructions: [vote] });
    const { err } = fixture.runtime.execute(transaction);
    assert.equal(err, 'AccountNotFound');
    assert.equal(fixture.account(proposalOf(key), 'Proposal').cancelled.length, 0);
  });
});

async function involved({ accounts }: Fixture, key: { multisig: Address; index: bigint }): Promise<Address[]> {
  const [recipient = accounts.operator] = accounts.recipients;
  return [
    accounts.multisig,
    accounts.vault,
    accounts.company,
    accounts.stranger,
    batchOf(key),
    proposalOf(key),
    transactionOf(key, 1),
    accounts.tokens[0].mint,
    accounts.tokens[0].vaultAccount,
    await tokenAccountOf(accounts.tokens[0], recipient),
  ];
}
