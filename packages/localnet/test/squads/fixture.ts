import assert from 'node:assert/strict';
import { PERMISSION } from '@flywheel/squads';
import { type Address, type EncodedAccount, getCompiledTransactionMessageDecoder, type Instruction } from '@solana/kit';
import { getMintDecoder, getTokenDecoder } from '@solana-program/token';
import type { LiteSVM } from 'litesvm';
import type { Execution, Runtime } from '../../src/runtime.ts';
import { createSquadsEmulation } from '../../src/squads-emulation/index.ts';
import { readTransaction } from '../../src/squads-emulation/outer-transaction.ts';
import type { Accounts } from '../../src/squads-emulation/program/accounts.ts';
import { decodeAccount } from '../../src/squads-emulation/program/call.ts';
import { createAccounts, type TestAccounts, type Token } from './accounts.ts';
import {
  type BatchKey,
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  type MultisigInput,
  multisigCreateV2,
  proposalActivate,
  proposalCreate,
  proposalVote,
} from './instructions.ts';
import { createSvm, type SvmOptions } from './setup.ts';
import { buildTransaction, type TransactionInput } from './transaction.ts';
import { type CompiledVaultMessage, tokenAccountOf } from './vault-instructions.ts';

/** An emulated chain with a multisig, and the actions of scripted tests on it. */
export interface Fixture {
  readonly accounts: TestAccounts;
  readonly svm: LiteSVM;
  readonly runtime: Runtime;
  /** Sends instructions in one v0 transaction that the operator pays. */
  send(...instructions: readonly Instruction[]): Promise<Execution>;
  sendAs(input: Omit<TransactionInput, 'feePayer'>): Promise<Execution>;
  /** Lists the transaction's accounts in the order of inner instructions' indices. */
  addressesOf(input: TransactionInput): readonly Address[];
  /** Sends instructions, and throws if they fail. */
  mustSend(...instructions: readonly Instruction[]): Promise<Execution>;
  /** Creates the next batch with these messages and opens it to votes. */
  setUp(...messages: readonly CompiledVaultMessage[]): Promise<BatchKey>;
  approve(key: BatchKey): Promise<void>;
  execute(key: BatchKey, position: number, message: CompiledVaultMessage): Instruction;
  account<Name extends keyof Accounts>(address: Address, name: Name): Accounts[Name];
  lamports(address: Address): bigint;
  tokens(token: Token, owner: Address): Promise<bigint>;
  supply(token: Token): bigint;
}

export interface FixtureOptions {
  /** Changes of the multisig's default input. */
  readonly multisigInput?: (accounts: TestAccounts) => Partial<MultisigInput>;
  readonly svmOptions?: SvmOptions;
}

export async function createFixture(
  name: string,
  { multisigInput, svmOptions }: FixtureOptions = {},
): Promise<Fixture> {
  const accounts = await createAccounts(name);
  const svm = createSvm(accounts, svmOptions);
  const runtime = createSquadsEmulation(svm);
  const sendAs: Fixture['sendAs'] = async (input) =>
    runtime.execute(buildTransaction(svm, { feePayer: accounts.operator, ...input }));
  const send: Fixture['send'] = (...instructions) => sendAs({ instructions });
  const mustSend: Fixture['mustSend'] = async (...instructions) => {
    const execution = await send(...instructions);
    assert.equal(execution.err, null, execution.logs.join('\n'));
    return execution;
  };
  await mustSend(multisigCreateV2({ ...defaultMultisig(accounts), ...multisigInput?.(accounts) }));
  const { multisig, operator } = accounts;
  const fixture: Fixture = {
    accounts,
    svm,
    runtime,
    send,
    sendAs,
    mustSend,
    addressesOf: (input) => {
      const { messageBytes } = buildTransaction(svm, input);
      const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
      return readTransaction(svm, message).accounts.map(({ address }) => address);
    },
    setUp: async (...messages) => {
      const key = { multisig, index: fixture.account(multisig, 'Multisig').transactionIndex + 1n };
      await mustSend(batchCreate(key, operator), proposalCreate(key, operator));
      for (const [each, { bytes }] of messages.entries()) {
        await mustSend(batchAddTransaction(key, { position: each + 1, member: operator, message: bytes }));
      }
      await mustSend(proposalActivate(key, operator));
      return key;
    },
    approve: async (key) => {
      await mustSend(proposalVote('approve', key, accounts.wallet), proposalVote('approve', key, accounts.company));
    },
    execute: (key, position, { remaining }) => batchExecuteTransaction(key, { position, member: operator, remaining }),
    account: (address, accountName) => decodeAccount(existing(svm, address).data, accountName),
    lamports: (address) => svm.getBalance(address) ?? 0n,
    tokens: async (token, owner) => {
      const { data } = existing(svm, await tokenAccountOf(token, owner));
      return getTokenDecoder().decode(data).amount;
    },
    supply: (token) => getMintDecoder().decode(existing(svm, token.mint).data).supply,
  };
  return fixture;
}

/** Builds the error of one instruction with a program's own code. */
export function customError(index: number, code: number) {
  return { InstructionError: [index, { Custom: code }] };
}

/** Writes accounts as text, to compare states. */
export function stateOf(svm: LiteSVM, addresses: readonly Address[]): string[] {
  return addresses.map((address) => {
    const account = svm.getAccount(address);
    if (!account.exists) return `${address} does not exist`;
    return `${address} ${account.programAddress} ${account.lamports} ${Buffer.from(account.data).toString('hex')}`;
  });
}

function defaultMultisig({ createKey, operator, company, wallet, treasury }: TestAccounts): MultisigInput {
  return {
    createKey,
    creator: operator,
    treasury,
    threshold: 2,
    rentCollector: operator,
    members: [
      { key: operator, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } },
      { key: company, permissions: { mask: PERMISSION.vote } },
      { key: wallet, permissions: { mask: PERMISSION.vote } },
    ],
  };
}

function existing(svm: LiteSVM, address: Address): EncodedAccount {
  const account = svm.getAccount(address);
  assert.ok(account.exists, `${address} does not exist`);
  return account;
}
