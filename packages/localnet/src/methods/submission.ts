import { z } from 'zod';
import type { Faucet } from '../bank.ts';
import { encodeMaybeAccount } from '../encoding/account-encoding.ts';
import { describeError } from '../encoding/error-text.ts';
import type { Faults } from '../faults.ts';
import type { Inbox } from '../inbox.ts';
import type { Attempt } from '../ledger/attempt.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Node } from '../ledger/node.ts';
import { BLOCKHASH_VALID_SLOTS } from '../ledger/slots.ts';
import { rpcInnerInstructions, rpcReturnData } from '../ledger/transaction-meta.ts';
import type { Method } from '../rpc/answer-call.ts';
import {
  addressParam,
  commitmentParam,
  contextParam,
  encodingParam,
  integerParam,
  optionalConfig,
  parseParams,
} from '../rpc/params.ts';
import { invalidParams, PREFLIGHT_FAILURE, RpcError } from '../rpc/rpc-error.ts';
import { decodeText, parseWireParam } from '../rpc/wire-param.ts';
import type { TransactionError } from '../runtime.ts';
import { transactionFee } from '../wire/fees.ts';
import type { SignatureVerifier } from '../wire/signatures.ts';
import { parseWireTransaction, WireTransactionError } from '../wire/wire-transaction.ts';
import { checkContextSlot, withContext } from './context.ts';

const MAX_FEE_ADDRESSES = 128;
/** First byte of version 0 messages; version 1 has its signatures after the message. */
const V0_PREFIX = 0x80;
const V1_PREFIX = 0x81;
const SIGNATURE_BYTES = 64;

const wireParam = z.string();
const sendConfig = optionalConfig({
  encoding: z.enum(['base58', 'base64']).default('base58'),
  skipPreflight: z.boolean().default(false),
  preflightCommitment: commitmentParam,
  minContextSlot: integerParam.nullish(),
});
const simulateConfig = optionalConfig({
  ...contextParam,
  encoding: z.enum(['base58', 'base64']).default('base58'),
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
      const verified = await verifier.verify(transaction);
      if (!skipPreflight) {
        if (!verified) throw preflightFailure(unverified());
        const { attempt } = node.simulate(transaction, { commitment, checkLifetime: true });
        if (attemptError(attempt) !== null) throw preflightFailure(attempt);
      }
      // Without preflight the transaction is forwarded unchecked; an invalid one is lost without an error.
      if (verified) inbox.add(transaction, { checkLifetime: true });
      return transaction.signature;
    },
    simulateTransaction: async (params) => {
      const [text, config] = parseParams([wireParam, simulateConfig], params);
      const { commitment, sigVerify, replaceRecentBlockhash } = config;
      if (sigVerify && replaceRecentBlockhash) {
        throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
      }
      const transaction = parseWireParam(text, config.encoding, v1);
      checkContextSlot(node, config);
      if (sigVerify && !(await verifier.verify(transaction))) {
        return withContext(node, config, describeAttempt(unverified(), false));
      }
      const { attempt, account } = node.simulate(transaction, { commitment, checkLifetime: !replaceRecentBlockhash });
      return withContext(node, config, {
        ...describeAttempt(attempt, config.innerInstructions),
        accounts:
          attemptError(attempt) === null && config.accounts
            ? config.accounts.addresses.map((address) =>
                encodeMaybeAccount(account(address), { encoding: config.accounts?.encoding ?? 'base64' }, account),
              )
            : null,
        ...(replaceRecentBlockhash && { replacementBlockhash: node.slots.latestBlockhash(commitment) }),
      });
    },
    requestAirdrop: async (params) => {
      const [recipient, amountLamports] = parseParams([addressParam, integerParam], params);
      const transaction = await faucet(recipient, amountLamports);
      const { attempt } = ledger.node.simulate(transaction, { commitment: 'processed', checkLifetime: false });
      const err = attemptError(attempt);
      if (err !== null) throw invalidParams(`airdrop failed: ${describeError(err)}`);
      inbox.add(transaction, { checkLifetime: false });
      return transaction.signature;
    },
    getFeeForMessage: (params) => {
      const [text, config] = parseParams([z.string(), optionalConfig(contextParam)], params);
      const transaction = parseMessage(decodeText(text, 'base64'));
      const { slot } = node.bank(config.commitment);
      const alive = node.slots.isRecent(transaction.lifetimeToken, slot);
      return withContext(node, config, alive ? transactionFee(transaction).totalLamports : null);
    },
    // Blocks are never full, so a transaction lands without a priority fee.
    getRecentPrioritizationFees: (params) => {
      parseParams([z.array(addressParam).max(MAX_FEE_ADDRESSES).nullish()], params);
      const newest = node.slots.at('confirmed');
      const length = Math.min(Number(newest), Number(BLOCKHASH_VALID_SLOTS));
      return Array.from({ length }, (_, index) => ({
        slot: newest - BigInt(index),
        prioritizationFee: 0,
      })).reverse();
    },
  };
}

function attemptError(attempt: Attempt): TransactionError | null {
  return attempt.kind === 'refused' ? attempt.err : attempt.record.err;
}

function preflightFailure(attempt: Attempt): RpcError {
  const failed = describeAttempt(attempt, false);
  return new RpcError(PREFLIGHT_FAILURE, `Transaction simulation failed: ${describeError(failed.err ?? '')}`, failed);
}

/** Result of a transaction without all its signers' valid signatures. */
function unverified(): Attempt {
  return { kind: 'refused', err: 'SignatureFailure', logs: [], unitsConsumed: 0n };
}

/** Lists all members of a simulation's result; null if nothing was executed or requested. */
function describeAttempt(attempt: Attempt, withInner: boolean) {
  const asked = { accounts: null, replacementBlockhash: null };
  if (attempt.kind === 'refused') {
    const { err, logs, unitsConsumed } = attempt;
    return { err, logs, unitsConsumed, ...NOTHING_EXECUTED, ...asked };
  }
  const { execution, record } = attempt;
  const { fee, preBalances, postBalances, preTokenBalances, postTokenBalances, loadedAddresses } = record.meta;
  return {
    err: record.err,
    logs: execution.logs,
    unitsConsumed: execution.unitsConsumed,
    returnData: rpcReturnData(execution),
    innerInstructions: withInner ? rpcInnerInstructions(execution) : null,
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
  const count = first === V0_PREFIX || first === V1_PREFIX ? second : first;
  const signatures = new Uint8Array(count * SIGNATURE_BYTES);
  const parts = first === V1_PREFIX ? [message, signatures] : [[count], signatures, message];
  try {
    return parseWireTransaction(new Uint8Array(parts.flatMap((part) => [...part])));
  } catch (error) {
    if (error instanceof WireTransactionError) throw invalidParams(error.message);
    throw error;
  }
}
