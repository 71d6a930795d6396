import { MAX_BLOCKHASH_AGE, SIGNATURE_BYTES } from '@flywheel/protocol';
import { INVALID_PARAMS, PREFLIGHT_FAILURE } from '@flywheel/solana-rpc';
import { z } from 'zod';
import type { Faucet } from '../bank.ts';
import { encodeMaybeAccount } from '../encoding/account-encoding.ts';
import { describeError } from '../encoding/error-text.ts';
import { parseInner } from '../encoding/transaction-encoding.ts';
import type { Faults } from '../faults.ts';
import type { Inbox } from '../inbox.ts';
import { type ListedAccount, listAccounts } from '../ledger/account-list.ts';
import type { Attempt } from '../ledger/attempt.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { findNonce } from '../ledger/lifetime.ts';
import type { Node, Simulation } from '../ledger/node.ts';
import type { Commitment } from '../ledger/slots.ts';
import { addressesOfTables, currentBalances, rpcInnerInstructions, rpcReturnData } from '../ledger/transaction-meta.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError, invalidParams } from '../rpc/call-error.ts';
import {
  addressParam,
  commitmentParam,
  contextParam,
  encodingParam,
  integerParam,
  listParam,
  optionalConfig,
  parseParams,
  transactionEncoding,
} from '../rpc/params.ts';
import { type BinaryEncoding, decodeText, MESSAGE, parseWireParam, unreadable } from '../rpc/wire-param.ts';
import type { TransactionError } from '../runtime.ts';
import { findBudgetError, transactionFee } from '../wire/fees.ts';
import { V0_FIRST_BYTE, V1_FIRST_BYTE } from '../wire/message-layout.ts';
import type { SignatureVerifier } from '../wire/signatures.ts';
import { parseWireTransaction, type WireTransaction, WireTransactionError } from '../wire/wire-transaction.ts';
import { checkContextSlot, throwCallError, withContext } from './context.ts';

const MAX_FEE_ADDRESSES = 128;

const wireParam = z.string();
/** Transactions are sent as bytes: the readable encodings are known, and not supported here. */
const binaryEncoding = transactionEncoding
  .refine((encoding) => !encoding.startsWith('json'), {
    error: ({ input }) => `unsupported encoding: ${String(input)}. Supported encodings: base58, base64`,
    params: { whole: true },
  })
  .transform((encoding): BinaryEncoding => (encoding === 'base64' ? 'base64' : 'base58'))
  .default('base58');
const sendConfig = optionalConfig({
  encoding: binaryEncoding,
  skipPreflight: z.boolean().default(false),
  preflightCommitment: commitmentParam,
  // Nothing is sent again here, so that the number has no effect.
  maxRetries: integerParam.nullish(),
  minContextSlot: integerParam.nullish(),
});
const simulateConfig = optionalConfig({
  ...contextParam,
  encoding: binaryEncoding,
  sigVerify: z.boolean().default(false),
  replaceRecentBlockhash: z.boolean().default(false),
  innerInstructions: z.boolean().default(false),
  accounts: z.object({ encoding: encodingParam.optional(), addresses: z.array(addressParam) }).nullish(),
});

export interface SubmissionDeps {
  readonly ledger: Ledger;
  readonly node: Node;
  readonly inbox: Inbox;
  readonly faucet: Faucet;
  readonly faults: Faults;
  readonly verifier: SignatureVerifier;
  /** True if the cluster accepts transactions of version 1. */
  readonly v1: boolean;
}

/** Methods that submit, simulate or price transactions. */
export function submissionMethods(deps: SubmissionDeps): Record<string, Method> {
  const { ledger, node, inbox, faucet, faults, verifier, v1 } = deps;
  return {
    sendTransaction: async (params) => {
      const [text, config] = parseParams([wireParam, sendConfig], params);
      const { skipPreflight, minContextSlot = undefined } = config;
      const transaction = parseWireParam(text, config.encoding, v1);
      if (faults.takeCall('drop', 'sendTransaction')) return transaction.signature;
      const commitment = skipPreflight ? 'processed' : config.preflightCommitment;
      checkContextSlot(node, { commitment, minContextSlot: minContextSlot ?? 0n });
      sanitize(node, commitment, transaction);
      const verified = await verifier.verify(transaction);
      if (!skipPreflight) {
        if (!verified) throw preflightFailure(node, commitment, unverified());
        const { attempt } = node.simulate(transaction, { commitment, checkLifetime: true });
        if (attemptError(attempt) !== null) throw preflightFailure(node, commitment, attempt);
      }
      // Without preflight the transaction is forwarded unchecked; an invalid one is lost without an error.
      if (verified) inbox.add(transaction, { checkLifetime: true });
      return transaction.signature;
    },
    simulateTransaction: async (params) => {
      const [text, config] = parseParams([wireParam, simulateConfig], params);
      const { commitment, sigVerify, replaceRecentBlockhash } = config;
      if (sigVerify && replaceRecentBlockhash) {
        throw new CallError(INVALID_PARAMS, 'sigVerify may not be used with replaceRecentBlockhash');
      }
      const transaction = parseWireParam(text, config.encoding, v1);
      checkContextSlot(node, config);
      const accounts = sanitize(node, commitment, transaction);
      const verified = !sigVerify || (await verifier.verify(transaction));
      const { attempt, account } = verified
        ? node.simulate(transaction, { commitment, checkLifetime: !replaceRecentBlockhash })
        : { attempt: unverified(), account: node.bank(commitment).account };
      return withContext(node, config, {
        ...describeAttempt(node, commitment, attempt, config.innerInstructions),
        loadedAddresses: addressesOfTables(accounts),
        accounts: describeAccounts(accounts.length, attempt, account, config.accounts ?? null),
        ...(replaceRecentBlockhash && { replacementBlockhash: node.slots.latestBlockhash(commitment) }),
      });
    },
    requestAirdrop: async (params) => {
      const [recipient, amountLamports] = parseParams(
        [addressParam, integerParam, optionalConfig(contextParam)],
        params,
      );
      const transaction = await faucet(recipient, amountLamports).catch(throwCallError);
      const { attempt } = ledger.node.simulate(transaction, { commitment: 'processed', checkLifetime: false });
      const err = attemptError(attempt);
      if (err !== null) throw invalidParams(`airdrop failed: ${describeError(err)}`);
      inbox.add(transaction, { checkLifetime: false });
      return transaction.signature;
    },
    getFeeForMessage: (params) => {
      const [text, config] = parseParams([z.string(), optionalConfig(contextParam)], params);
      const transaction = parseMessage(decodeText(text, 'base64', MESSAGE));
      const { slot, account } = node.bank(config.commitment);
      const isAlive = node.slots.isRecent(transaction.lifetimeToken, slot) || findNonce(account, transaction) !== null;
      return withContext(node, config, isAlive ? transactionFee(transaction) : null);
    },
    // Blocks are never full, so a transaction lands without a priority fee.
    getRecentPrioritizationFees: (params) => {
      parseParams([listParam(addressParam, MAX_FEE_ADDRESSES).nullish()], params);
      const newest = node.slots.at('confirmed');
      const length = Math.min(Number(newest), Number(MAX_BLOCKHASH_AGE));
      return Array.from({ length }, (_, index) => ({
        slot: newest - BigInt(index),
        prioritizationFee: 0,
      })).reverse();
    },
  };
}

/**
 * Checks what a validator checks before it simulates: lookup tables and compute budget instructions.
 * @returns the accounts.
 * @throws CallError.
 */
function sanitize(node: Node, commitment: Commitment, transaction: WireTransaction): readonly ListedAccount[] {
  const bank = node.bank(commitment);
  const { accounts, err } = listAccounts(bank.account, bank.slot, transaction);
  const isOfTable = typeof err === 'string' && err.includes('AddressLookupTable');
  const error = isOfTable ? err : findBudgetError(transaction);
  if (error === null) return accounts;
  throw new CallError(INVALID_PARAMS, `invalid transaction: ${describeError(error)}`);
}

function attemptError(attempt: Attempt): TransactionError | null {
  return attempt.kind === 'refused' ? attempt.err : attempt.record.err;
}

/** Encodes the accounts that a simulation is asked for; after a failure they are null. */
function describeAccounts(
  most: number,
  attempt: Attempt,
  account: Simulation['account'],
  asked: z.output<typeof simulateConfig>['accounts'] | null,
) {
  if (!asked) return null;
  if (asked.encoding === 'base58' || ('encoding' in asked && asked.encoding === undefined)) {
    throw new CallError(INVALID_PARAMS, 'base58 encoding not supported');
  }
  if (asked.addresses.length > most) throw new CallError(INVALID_PARAMS, `Too many accounts provided; max ${most}`);
  if (attemptError(attempt) !== null) return asked.addresses.map(() => null);
  const view = { encoding: asked.encoding ?? 'base64' };
  return asked.addresses.map((address) => encodeMaybeAccount(account(address), view, account));
}

/** A failed preflight has no balances and no addresses, whatever the simulation found (rpc, send_transaction). */
function preflightFailure(node: Node, commitment: Commitment, attempt: Attempt): CallError {
  const { fee, ...failed } = describeAttempt(node, commitment, attempt, false);
  const message = `Transaction simulation failed: ${describeError(failed.err ?? '')}`;
  return new CallError(PREFLIGHT_FAILURE, message, {
    ...failed,
    ...NOTHING_EXECUTED,
    returnData: failed.returnData,
    fee,
  });
}

/** Result of a transaction without all its signers' valid signatures. */
function unverified(): Attempt {
  return { kind: 'refused', err: 'SignatureFailure', logs: [], unitsConsumed: 0n, accounts: [], states: [] };
}

/** Lists all members of a simulation's result; null if nothing was executed or requested. */
function describeAttempt(node: Node, commitment: Commitment, attempt: Attempt, withInner: boolean) {
  const asked = { accounts: null, replacementBlockhash: null };
  if (attempt.kind === 'refused') {
    const { err, logs, unitsConsumed, accounts, states } = attempt;
    const balances = accounts.length > 0 ? currentBalances(accounts, states, node.bank(commitment).account) : {};
    return { err, logs, unitsConsumed, loadedAccountsDataSize: 0, ...NOTHING_EXECUTED, ...balances, ...asked };
  }
  const { execution, record } = attempt;
  const addresses = attempt.accounts.map(({ address }) => address);
  const { fee, preBalances, postBalances, preTokenBalances, postTokenBalances, loadedAddresses } = record.meta;
  return {
    err: record.err,
    logs: execution.logs,
    unitsConsumed: execution.unitsConsumed,
    loadedAccountsDataSize: attempt.loadedBytes,
    returnData: rpcReturnData(execution),
    innerInstructions: withInner ? rpcInnerInstructions(execution).map((inner) => parseInner(addresses, inner)) : null,
    fee,
    preBalances,
    postBalances,
    preTokenBalances,
    postTokenBalances,
    loadedAddresses,
    ...asked,
  };
}

const NOTHING_EXECUTED = {
  returnData: null,
  innerInstructions: null,
  fee: null,
  preBalances: null,
  postBalances: null,
  preTokenBalances: null,
  postTokenBalances: null,
  loadedAddresses: null,
};

/**
 * Parses a message alone as a transaction with empty signatures; there are never more than 127, so their count is one
 * byte.
 */
function parseMessage(message: Uint8Array) {
  const [first = 0, second = 0] = message;
  const count = first === V0_FIRST_BYTE || first === V1_FIRST_BYTE ? second : first;
  const signatures = new Uint8Array(count * SIGNATURE_BYTES);
  const parts = first === V1_FIRST_BYTE ? [message, signatures] : [[count], signatures, message];
  try {
    return parseWireTransaction(new Uint8Array(parts.flatMap((part) => [...part])));
  } catch (error) {
    if (error instanceof WireTransactionError) throw unreadable(error, MESSAGE);
    throw error;
  }
}
