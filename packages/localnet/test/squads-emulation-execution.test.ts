import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Address, address, createNoopSigner, type Instruction } from '@solana/kit';
import {
  decodeNonce,
  getAdvanceNonceAccountInstruction,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getNonceSize,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { computeBudgetInstructions } from '../src/squads-emulation/compute-budget.ts';
import { createAccounts } from './squads/accounts.ts';
import { createFixture, customError, type Fixture } from './squads/fixture.ts';
import { proposalOf, proposalVote } from './squads/instructions.ts';
import { createLookupTable } from './squads/lookup-table.ts';
import {
  airdrop,
  burn,
  type CompiledVaultMessage,
  compileMessage,
  MEMO_PROGRAM_ADDRESS,
  memo,
} from './squads/vault-instructions.ts';

/** Opens a fixture with an approved batch of one pipeline: proof memo, burn, airdrop to a new token account. */
async function openPipeline(name: string) {
  const table = await createLookupTable(await createAccounts(name));
  const fixture = await createFixture(name, { svmOptions: { lookupTable: table } });
  const { accounts } = fixture;
  const {
    vault,
    tokens: [token],
    recipients: [recipient = vault],
  } = accounts;
  const gifts = await airdrop(accounts, token, { recipient, amount: 7n });
  const inner = [memo('flywheel:v1', vault), burn(accounts, token, 10n), ...gifts];
  return { fixture, table, token, recipient, inner };
}

async function approve(fixture: Fixture, message: CompiledVaultMessage) {
  const key = await fixture.setUp(message);
  await fixture.approve(key);
  return fixture.execute(key, 1, message);
}

describe('an emulated execution', () => {
  for (const [what, version, useTable] of [
    ['a legacy transaction', 'legacy', false],
    ['a v0 transaction', 0, false],
    ['a v0 transaction and a vault message with lookup tables', 0, true],
    ['a v1 transaction', 1, false],
  ] as const) {
    it(`lists the inner instructions of ${what} by its own accounts`, async () => {
      const { fixture, table, token, recipient, inner } = await openPipeline(`inner of ${what}`);
      const { vault, operator } = fixture.accounts;
      const tables = useTable ? [table] : [];
      const message = compileMessage(vault, inner, tables);
      const execution = await approve(fixture, message);
      const input = { version, tables, instructions: [memo('outside'), execution] };
      const result = await fixture.sendAs(input);
      assert.equal(result.err, null);
      assert.equal(result.innerInstructions.length, 1);
      const [called] = result.innerInstructions;
      assert.equal(called?.index, 1);
      const addresses = fixture.addressesOf({ feePayer: operator, ...input });
      const told = called?.instructions.map(({ programIdIndex, accounts, data, stackHeight }) => ({
        program: addresses[programIdIndex],
        accounts: accounts.map((index) => addresses[index]),
        text: Buffer.from(data).toString(),
        stackHeight,
      }));
      const ownCalls = told?.filter(({ stackHeight }) => stackHeight === 2) ?? [];
      assert.deepEqual(
        ownCalls.map(({ program }) => program),
        inner.map(({ programAddress }) => programAddress),
      );
      assert.deepEqual(
        ownCalls.map(({ accounts }) => accounts),
        inner.map(accountAddresses),
      );
      assert.deepEqual([ownCalls[0]?.program, ownCalls[0]?.text], [MEMO_PROGRAM_ADDRESS, 'flywheel:v1']);
      const deeper = told?.filter(({ stackHeight }) => stackHeight === 3) ?? [];
      // The associated token program reads the size, creates, and initializes.
      assert.deepEqual(new Set(deeper.map(({ program }) => program)), new Set([token.program, SYSTEM_PROGRAM_ADDRESS]));
      assert.ok(deeper.some(({ accounts }) => accounts.includes(told?.[2]?.accounts[1])));
      assert.equal(await fixture.tokens(token, recipient), 7n);
    });
  }

  it('logs each program at its depth, between the lines of Squads', async () => {
    const { fixture, inner } = await openPipeline('logs');
    const { logs } = await fixture.mustSend(await approve(fixture, compileMessage(fixture.accounts.vault, inner)));
    const squads = 'Program SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';
    assert.deepEqual(logs.slice(0, 3), [
      `${squads} invoke [1]`,
      'Program log: Instruction: BatchExecuteTransaction',
      `Program ${MEMO_PROGRAM_ADDRESS} invoke [2]`,
    ]);
    assert.ok(logs.includes('Program log: flywheel:v1'));
    assert.ok(logs.includes(`Program ${ASSOCIATED_TOKEN_PROGRAM_ADDRESS} invoke [2]`));
    assert.ok(logs.includes(`Program ${SYSTEM_PROGRAM_ADDRESS} invoke [3]`));
    assert.equal(logs.at(-1), `${squads} success`);
  });

  it('counts compute units close to the real program’s, and fails over the limit', async () => {
    const { fixture, inner } = await openPipeline('units');
    const execution = await approve(fixture, compileMessage(fixture.accounts.vault, inner));
    const tooLow = computeBudgetInstructions({ unitLimit: 20_000, heapBytes: null });
    const { err } = await fixture.send(...tooLow, execution);
    assert.deepEqual(err, { InstructionError: [1, 'ProgramFailedToComplete'] });
    const { unitsConsumed } = await fixture.mustSend(execution);
    // 40,200 of Squads itself and 18,000 to 24,000 of the others, as measured on the real program.
    assert.ok(unitsConsumed > 50_000n && unitsConsumed < 75_000n, `${unitsConsumed} units`);
  });

  it('stops after 64 instructions at all depths, like the runtime', async () => {
    const fixture = await createFixture('trace');
    const { accounts } = fixture;
    const message = compileMessage(
      accounts.vault,
      Array.from({ length: 62 }, () => memo('')),
    );
    const execution = await approve(fixture, message);
    const version = 1;
    const tooMany = { version, instructions: [execution, memo('63rd'), memo('64th')] } as const;
    assert.deepEqual((await fixture.sendAs(tooMany)).err, {
      InstructionError: [2, 'MaxInstructionTraceLengthExceeded'],
    });
    assert.equal((await fixture.sendAs({ version, instructions: [execution, memo('63rd')] })).err, null);
  });
});

describe('the fee of an emulated transaction', () => {
  it('counts the signatures of the transaction, not those of the vault', async () => {
    const { fixture, inner } = await openPipeline('fee');
    const execution = await approve(fixture, compileMessage(fixture.accounts.vault, inner));
    assert.equal(await cost(fixture, execution), 5_000n);
  });

  it('includes the priority fee for the given limit, or the default one', async () => {
    const { fixture } = await openPipeline('priority');
    const { company, multisig } = fixture.accounts;
    await fixture.setUp(compileMessage(fixture.accounts.vault, [memo('x')]));
    const vote = proposalVote('approve', { multisig, index: 1n }, company);
    const rejection = proposalVote('reject', { multisig, index: 1n }, company);
    const limits = computeBudgetInstructions({ unitLimit: 60_000, heapBytes: null });
    assert.equal(await cost(fixture, ...limits, unitPrice(10_000_000n), vote), 2n * 5_000n + 600_000n);
    // Without a limit: 200,000 for the vote and 3,000 for the builtin that sets the price.
    assert.equal(await cost(fixture, unitPrice(1_000_000n), rejection), 2n * 5_000n + 203_000n);
  });

  it('counts a precompile as a builtin in the default limit', async () => {
    const { fixture } = await openPipeline('precompile');
    const { company, multisig } = fixture.accounts;
    await fixture.setUp(compileMessage(fixture.accounts.vault, [memo('x')]));
    const vote = proposalVote('approve', { multisig, index: 1n }, company);
    const noSignatures = {
      programAddress: address('Ed25519SigVerify111111111111111111111111111'),
      data: Uint8Array.of(0, 0),
    };
    // 200,000 for the vote, and 3,000 each for the price and the precompile.
    assert.equal(await cost(fixture, unitPrice(1_000_000n), noSignatures, vote), 2n * 5_000n + 206_000n);
  });
});

describe('an emulated transaction with a durable nonce', () => {
  it('advances the nonce and carries both votes', async () => {
    const { fixture, nonce, advance } = await openNonce('nonce');
    const { multisig, company, wallet, vault } = fixture.accounts;
    const key = await fixture.setUp(compileMessage(vault, [memo('x')]));
    const before = nonceValue(fixture, nonce);
    fixture.svm.expireBlockhash();
    const votes = [wallet, company].map((voter) => proposalVote('approve', { multisig, index: key.index }, voter));
    const limits = computeBudgetInstructions({ unitLimit: 60_000, heapBytes: null });
    await fixture.mustSend(advance, ...limits, ...votes);
    assert.notEqual(nonceValue(fixture, nonce), before);
    assert.equal(fixture.account(proposalOf(key), 'Proposal').status.__kind, 'Approved');
  });

  it('leaves the nonce to the ledger if it fails', async () => {
    const { fixture, nonce, advance } = await openNonce('failed nonce');
    const { operator, vault } = fixture.accounts;
    const key = await fixture.setUp(compileMessage(vault, [memo('x')]));
    const before = nonceValue(fixture, nonce);
    fixture.svm.expireBlockhash();
    assert.deepEqual((await fixture.send(advance, proposalVote('approve', key, operator))).err, customError(1, 6004));
    assert.equal(nonceValue(fixture, nonce), before);
  });
});

function accountAddresses({ accounts = [] }: Instruction): Address[] {
  return accounts.map(({ address }) => address);
}

async function cost(fixture: Fixture, ...instructions: Instruction[]): Promise<bigint> {
  const { operator } = fixture.accounts;
  const before = fixture.lamports(operator);
  await fixture.mustSend(...instructions);
  return before - fixture.lamports(operator);
}

function unitPrice(microLamports: bigint): Instruction {
  const [limit] = computeBudgetInstructions({ unitLimit: 0, heapBytes: null });
  const data = new Uint8Array(9);
  new DataView(data.buffer).setBigUint64(1, microLamports, true);
  // Discriminator of SetComputeUnitPrice.
  data[0] = 3;
  return { programAddress: limit?.programAddress ?? SYSTEM_PROGRAM_ADDRESS, data };
}

async function openNonce(name: string) {
  const fixture = await createFixture(name);
  const {
    operator,
    recipients: [nonce = operator],
  } = fixture.accounts;
  const authority = createNoopSigner(operator);
  const space = getNonceSize();
  await fixture.mustSend(
    getCreateAccountInstruction({
      payer: authority,
      newAccount: createNoopSigner(nonce),
      lamports: fixture.svm.minimumBalanceForRentExemption(BigInt(space)),
      space,
      programAddress: SYSTEM_PROGRAM_ADDRESS,
    }),
    getInitializeNonceAccountInstruction({ nonceAccount: nonce, nonceAuthority: operator }),
  );
  const advance = getAdvanceNonceAccountInstruction({ nonceAccount: nonce, nonceAuthority: authority });
  return { fixture, nonce, advance };
}

function nonceValue({ svm }: Fixture, nonce: Address): string {
  const account = svm.getAccount(nonce);
  assert.ok(account.exists);
  return decodeNonce(account).data.blockhash;
}
