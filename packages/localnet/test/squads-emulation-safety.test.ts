import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import { transfer } from '../src/squads-emulation/program/call.ts';
import { compileVaultMessage } from './squads/compile-vault-message.ts';
import {
  batchCreate,
  batchOf,
  proposalCreate,
  proposalOf,
  proposalVote,
  transactionOf,
} from './squads/instructions.ts';
import { VAULT_TOKENS_BASE_UNITS } from './squads/stage.ts';
import { customError, openTheatre, stateOf, type Theatre } from './squads/theatre.ts';
import { buildTransaction } from './squads/transaction.ts';
import { airdrop, burn, memo, tokenAccountOf } from './squads/vault-instructions.ts';

/** A theatre with an approved batch of this one message. */
async function openApproved(name: string, inner: (theatre: Theatre) => Instruction[] | Promise<Instruction[]>) {
  const theatre = await openTheatre(name);
  const message = compileVaultMessage(theatre.cast.vault, await inner(theatre));
  const key = await theatre.setUp(message);
  await theatre.approve(key);
  return { theatre, cast: theatre.cast, key, execution: theatre.execute(key, 1, message) };
}

/** The instruction with its signers asked for as mere accounts, as an attacker without their signatures must. */
function unsigned(instruction: Instruction): Instruction {
  const accounts = (instruction.accounts ?? []).map(({ address, role }) => ({
    address,
    role: role & AccountRole.WRITABLE,
  }));
  return { ...instruction, accounts };
}

describe('beside an execution, in which the vault signs', () => {
  for (const place of ['before', 'after'] as const) {
    const around = (execution: Instruction, other: Instruction) =>
      place === 'before' ? [other, execution] : [execution, other];
    const index = place === 'before' ? 0 : 1;

    it(`a transfer out of the vault ${place} it fails for want of the vault's signature`, async () => {
      const { theatre, cast, execution } = await openApproved(`theft ${place}`, ({ cast: { vault } }) => [
        memo('x', vault),
      ]);
      const vaultLamports = theatre.lamports(cast.vault);
      const theft = unsigned(transfer(cast.vault, cast.operator, 1_000_000n));
      const { err } = await theatre.send(...around(execution, theft));
      assert.deepEqual(err, { InstructionError: [index, 'MissingRequiredSignature'] });
      assert.equal(theatre.lamports(cast.vault), vaultLamports);
    });

    it(`a burn of the vault's tokens ${place} it fails for want of the vault's signature`, async () => {
      const { theatre, cast, execution } = await openApproved(`arson ${place}`, ({ cast: { vault } }) => [
        memo('x', vault),
      ]);
      const arson = unsigned(burn(cast, cast.tokens[0], 1n));
      const { err } = await theatre.send(...around(execution, arson));
      assert.deepEqual(err, { InstructionError: [index, 'MissingRequiredSignature'] });
      assert.equal(theatre.supply(cast.tokens[0]), VAULT_TOKENS_BASE_UNITS);
    });
  }

  it('a memo cannot claim the vault as its author', async () => {
    const { theatre, cast, execution } = await openApproved('forgery', ({ cast: { vault } }) => [memo('x', vault)]);
    const { err } = await theatre.send(execution, unsigned(memo('forged', cast.vault)));
    assert.deepEqual(err, { InstructionError: [1, 'MissingRequiredSignature'] });
  });

  it('a deposit into the vault succeeds', async () => {
    const { theatre, cast, execution } = await openApproved('deposit', ({ cast: { vault } }) => [memo('x', vault)]);
    const before = theatre.lamports(cast.vault);
    await theatre.mustSend(transfer(cast.operator, cast.vault, 5n), execution, transfer(cast.operator, cast.vault, 6n));
    assert.equal(theatre.lamports(cast.vault) - before, 11n);
  });

  it('the vault cannot spend what the fee payer has without the fee payer signing in its message', async () => {
    const { theatre, cast, execution } = await openApproved('overreach', ({ cast: { operator, company } }) => [
      unsigned(transfer(operator, company, 1_000_000n)),
    ]);
    const before = theatre.lamports(cast.company);
    assert.deepEqual((await theatre.send(execution)).err, { InstructionError: [0, 'MissingRequiredSignature'] });
    assert.equal(theatre.lamports(cast.company), before);
  });

  it('the vault cannot change an account that its message names as readonly, even if the transaction could', async () => {
    const { theatre, cast, execution } = await openApproved('readonly', ({ cast: { vault, recipients } }) => {
      const payment = transfer(vault, recipients[0] ?? vault, 1_000_000n);
      const [from, to] = payment.accounts ?? [];
      return [
        {
          ...payment,
          accounts: [from, to && { ...to, role: AccountRole.READONLY }].filter((meta) => meta !== undefined),
        },
      ];
    });
    const [recipient = cast.operator] = cast.recipients;
    const { err } = await theatre.send(execution, transfer(cast.operator, recipient, 1_000_000n));
    assert.deepEqual(err, { InstructionError: [0, 'ReadonlyLamportChange'] });
    assert.equal(theatre.lamports(recipient), 0n);
  });

  it('the batch and the proposal cannot be passed on as writable', async () => {
    const { theatre, execution } = await openApproved('protected', ({ cast: { multisig } }) => [
      { ...memo('x'), accounts: [{ address: batchOf({ multisig, index: 1n }), role: AccountRole.WRITABLE }] },
    ]);
    assert.deepEqual((await theatre.send(execution)).err, customError(0, 6029));
  });
});

describe('a failed transaction', () => {
  it('leaves nothing but the fee, after everything before the failing instruction had run', async () => {
    const { theatre, cast, key, execution } = await openApproved(
      'rollback',
      async ({ cast: { vault, tokens, recipients }, cast }) => [
        memo('x', vault),
        burn(cast, tokens[0], 5n),
        ...(await airdrop(cast, tokens[0], { recipient: recipients[0] ?? vault, amount: 5n })),
      ],
    );
    const addresses = await involved(theatre, key);
    const before = stateOf(theatre.svm, addresses);
    const payerBefore = theatre.lamports(cast.operator);
    const { err } = await theatre.send(
      transfer(cast.operator, cast.stranger, 7n),
      execution,
      proposalVote('cancel', key, cast.company),
    );
    assert.deepEqual(err, customError(2, 6008));
    assert.deepEqual(stateOf(theatre.svm, addresses), before);
    assert.equal(payerBefore - theatre.lamports(cast.operator), 2n * 5_000n);
    await theatre.mustSend(execution);
  });

  it('leaves no trace of accounts that it had created', async () => {
    const theatre = await openTheatre('unborn');
    const { cast } = theatre;
    const key = { multisig: cast.multisig, index: 1n };
    const { err } = await theatre.send(
      batchCreate(key, cast.operator),
      proposalCreate(key, cast.operator),
      proposalVote('approve', key, cast.company),
    );
    assert.deepEqual(err, customError(2, 6008));
    assert.equal(theatre.svm.getAccount(batchOf(key)).exists, false);
    assert.equal(theatre.svm.getAccount(proposalOf(key)).exists, false);
    assert.equal(theatre.account(cast.multisig, 'Multisig').transactionIndex, 0n);
  });

  it('is undone whole, the fee too, when something throws half-way', async () => {
    const { theatre, cast, key, execution } = await openApproved('thrown', ({ cast: { vault, tokens }, cast }) => [
      memo('x', vault),
      burn(cast, tokens[0], 5n),
    ]);
    const addresses = [...(await involved(theatre, key)), cast.operator];
    const before = stateOf(theatre.svm, addresses);
    const { svm } = theatre;
    const { setAccount } = svm;
    svm.setAccount = (account) => {
      // The batch's cursor is written after the vault's instructions have run.
      if (account.address === batchOf(key)) {
        svm.setAccount = setAccount;
        throw new Error('The disk is full.');
      }
      setAccount.call(svm, account);
    };
    await assert.rejects(theatre.send(execution), /The disk is full/);
    assert.deepEqual(stateOf(svm, addresses), before);
    await theatre.mustSend(execution);
  });

  it('charges nothing when the fee payer cannot pay', async () => {
    const { theatre, cast, key } = await openApproved('poor', ({ cast: { vault } }) => [memo('x', vault)]);
    const [recipient = cast.operator] = cast.recipients;
    const vote = proposalVote('cancel', key, cast.company);
    const transaction = buildTransaction(theatre.svm, { feePayer: recipient, instructions: [vote] });
    const { err } = await theatre.runtime.execute(transaction);
    assert.equal(err, 'AccountNotFound');
    assert.equal(theatre.account(proposalOf(key), 'Proposal').cancelled.length, 0);
  });
});

async function involved({ cast }: Theatre, key: { multisig: Address; index: bigint }): Promise<Address[]> {
  const [recipient = cast.operator] = cast.recipients;
  return [
    cast.multisig,
    cast.vault,
    cast.company,
    cast.stranger,
    batchOf(key),
    proposalOf(key),
    transactionOf(key, 1),
    cast.tokens[0].mint,
    cast.tokens[0].vaultAccount,
    await tokenAccountOf(cast.tokens[0], recipient),
  ];
}
