import assert from 'node:assert/strict';
import { type Address, type EncodedAccount, getCompiledTransactionMessageDecoder, type Instruction } from '@solana/kit';
import { getMintDecoder, getTokenDecoder } from '@solana-program/token';
import type { LiteSVM } from 'litesvm';
import type { Execution, Runtime } from '../../src/runtime.ts';
import { createSquadsEmulation } from '../../src/squads-emulation/index.ts';
import { readTransaction } from '../../src/squads-emulation/outer-transaction.ts';
import { type Accounts, permission } from '../../src/squads-emulation/program/accounts.ts';
import { decodeAccount } from '../../src/squads-emulation/program/call.ts';
import { type Cast, createCast, type Token } from './cast.ts';
import type { CompiledVaultMessage } from './compile-vault-message.ts';
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
import { type StageOptions, setStage } from './stage.ts';
import { buildTransaction, type TransactionInput } from './transaction.ts';
import { tokenAccountOf } from './vault-instructions.ts';

/** An emulated chain with a founded multisig, and what scripted tests do on it. */
export interface Theatre {
  readonly cast: Cast;
  readonly svm: LiteSVM;
  readonly runtime: Runtime;
  /** Sends instructions in one v0 transaction that the operator pays. */
  send(...instructions: readonly Instruction[]): Promise<Execution>;
  sendAs(input: Omit<TransactionInput, 'feePayer'>): Promise<Execution>;
  /** The transaction's accounts in the order in which inner instructions count them. */
  addressesOf(input: TransactionInput): readonly Address[];
  /** Sends, and expects it to succeed. */
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

export interface TheatreOptions {
  /** What to found the multisig with instead of the usual. */
  readonly founding?: (cast: Cast) => Partial<MultisigInput>;
  readonly stage?: StageOptions;
}

export async function openTheatre(name: string, { founding, stage }: TheatreOptions = {}): Promise<Theatre> {
  const cast = await createCast(name);
  const svm = setStage(cast, stage);
  const runtime = createSquadsEmulation(svm);
  const sendAs: Theatre['sendAs'] = async (input) =>
    runtime.execute(buildTransaction(svm, { feePayer: cast.operator, ...input }));
  const send: Theatre['send'] = (...instructions) => sendAs({ instructions });
  const mustSend: Theatre['mustSend'] = async (...instructions) => {
    const execution = await send(...instructions);
    assert.equal(execution.err, null, execution.logs.join('\n'));
    return execution;
  };
  await mustSend(multisigCreateV2({ ...defaultFounding(cast), ...founding?.(cast) }));
  const { multisig, operator } = cast;
  const theatre: Theatre = {
    cast,
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
      const key = { multisig, index: theatre.account(multisig, 'Multisig').transactionIndex + 1n };
      await mustSend(batchCreate(key, operator), proposalCreate(key, operator));
      for (const [each, { bytes }] of messages.entries()) {
        await mustSend(batchAddTransaction(key, { position: each + 1, member: operator, message: bytes }));
      }
      await mustSend(proposalActivate(key, operator));
      return key;
    },
    approve: async (key) => {
      await mustSend(proposalVote('approve', key, cast.wallet), proposalVote('approve', key, cast.company));
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
  return theatre;
}

/** The error of one instruction with a program's own code. */
export function customError(index: number, code: number) {
  return { InstructionError: [index, { Custom: code }] };
}

/** These accounts as text, to compare states by. */
export function stateOf(svm: LiteSVM, addresses: readonly Address[]): string[] {
  return addresses.map((address) => {
    const account = svm.getAccount(address);
    if (!account.exists) return `${address} does not exist`;
    return `${address} ${account.programAddress} ${account.lamports} ${Buffer.from(account.data).toString('hex')}`;
  });
}

function defaultFounding({ createKey, operator, company, wallet, treasury }: Cast): MultisigInput {
  return {
    createKey,
    creator: operator,
    treasury,
    threshold: 2,
    rentCollector: operator,
    members: [
      { address: operator, permissions: permission.initiate | permission.execute },
      { address: company, permissions: permission.vote },
      { address: wallet, permissions: permission.vote },
    ],
  };
}

function existing(svm: LiteSVM, address: Address): EncodedAccount {
  const account = svm.getAccount(address);
  assert.ok(account.exists, `${address} does not exist`);
  return account;
}
