import {
  BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR,
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  batchTransactionAddress,
  CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR,
  CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
  configTransactionCreateArgsDecoder,
  DISCRIMINATOR_BYTES,
  hasDiscriminator,
  PROPOSAL_ACTIVATE_DISCRIMINATOR,
  PROPOSAL_APPROVE_DISCRIMINATOR,
  PROPOSAL_CANCEL_DISCRIMINATOR,
  PROPOSAL_CANCEL_V2_DISCRIMINATOR,
  PROPOSAL_CREATE_DISCRIMINATOR,
  PROPOSAL_REJECT_DISCRIMINATOR,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR,
} from '@flywheel/squads';
import type { Address, Instruction, ReadonlyUint8Array } from '@solana/kit';
import type { ChainTransaction } from '../chain/read-transaction.ts';
import { toChange } from '../chain/squads.ts';
import { describeMemberChange } from '../verification/compare.ts';

/**
 * What an audit knows of a multisig, read from its newest transaction to its oldest. The multisig numbers its transactions,
 * and a batch its pipelines, both without a gap: so a missing part of the history shows, also one that moved nothing.
 */
export interface MultisigHistory {
  readonly multisig: Address;
  /** Index of the newest batch or other transaction whose creation is still to be read; 0 after the first one's. */
  nextIndex: bigint;
  /** Executed batches whose creation is still to be read. */
  readonly batches: { readonly batch: string; readonly index: bigint; position: number }[];
  /** Executed changes of the multisig whose creation, which says what they change, is still to be read. */
  readonly changes: ({ readonly account: string } & Executed)[];
}

/** Slot, time and transaction of an execution. */
export interface Executed {
  readonly slot: number;
  readonly executedAt: string | null;
  readonly signature: string;
  /** True in the period of the audit. */
  readonly isCounted: boolean;
}

/** What a transaction did to a multisig. */
export type MultisigFinding =
  /** A part of the history is missing after this transaction. */
  | { readonly kind: 'missing'; readonly what: string }
  /** An executed change of the members or settings; `changes` is a sentence. */
  | { readonly kind: 'rotation'; readonly executed: Executed; readonly changes: string }
  /** An instruction of Squads that Flywheel does not use; `discriminator`: its first eight bytes, lowercase hex. */
  | { readonly kind: 'foreign'; readonly discriminator: string };

/** Reads a successful transaction that names the multisig, the next older one. It changes `history`. */
export function readMultisig(
  history: MultisigHistory,
  { calls }: Pick<ChainTransaction, 'calls'>,
  executed: Executed,
): MultisigFinding[] {
  return calls
    .flatMap(({ instruction, inner }) => [instruction, ...inner])
    .filter(
      ({ programAddress, accounts }) =>
        programAddress === SQUADS_PROGRAM_ADDRESS && accounts?.[0]?.address === history.multisig,
    )
    .toReversed()
    .flatMap((instruction) => readInstruction(history, instruction, executed));
}

/** What is missing when the oldest transaction of the multisig has been read; null if nothing is. */
export function missingAtStart({ nextIndex, batches }: MultisigHistory): string | null {
  if (nextIndex > 0n) return `the creation of the transaction ${nextIndex} of the multisig`;
  const [open] = batches;
  return open ? `the creation of the batch ${open.index}` : null;
}

function readInstruction(
  history: MultisigHistory,
  { accounts = [], data = new Uint8Array() }: Instruction,
  executed: Executed,
): MultisigFinding[] {
  const at = (index: number) => accounts[index]?.address ?? '';
  const is = (discriminator: ReadonlyUint8Array) => hasDiscriminator(data, discriminator);
  if (is(BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR)) return passExecution(history, { batch: at(3), transaction: at(4) });
  const created = createdIndex(history, at(1), is(BATCH_CREATE_DISCRIMINATOR) ? ANY_DEPTH : SHALLOW_DEPTH);
  const findings = created === null ? [] : passCreation(history, created, at(1));
  if (is(CONFIG_TRANSACTION_CREATE_DISCRIMINATOR)) return [...findings, ...describeChanges(history, at(1), data)];
  if (is(CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR)) history.changes.push({ account: at(3), ...executed });
  else if (!KNOWN.some(is)) return [...findings, { kind: 'foreign', discriminator: hexOf(data) }];
  return findings;
}

/** Instructions that only prepare or clean up. `multisigCreateV2` does not have the multisig as its first account. */
const KNOWN = [
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR,
  VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR,
  CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR,
  PROPOSAL_CREATE_DISCRIMINATOR,
  PROPOSAL_ACTIVATE_DISCRIMINATOR,
  PROPOSAL_APPROVE_DISCRIMINATOR,
  PROPOSAL_REJECT_DISCRIMINATOR,
  PROPOSAL_CANCEL_DISCRIMINATOR,
  PROPOSAL_CANCEL_V2_DISCRIMINATOR,
];

/** Indices that are tried for an account of unknown kind, and for one that certainly is a batch. A try takes about 20 µs. */
const SHALLOW_DEPTH = 16n;
const ANY_DEPTH = 100_000n;
/** More pipelines than any batch has. */
const MAX_POSITION = 20_000;

/** Index of the batch or other transaction at an address; null if it is none of the newest that are still to be read. */
function createdIndex({ multisig, nextIndex }: MultisigHistory, account: string, depth: bigint): bigint | null {
  for (let index = nextIndex; index > 0n && index > nextIndex - depth; index--) {
    if (transactionAddress(multisig, index) === account) return index;
  }
  return null;
}

function passCreation(history: MultisigHistory, index: bigint, account: string): MultisigFinding[] {
  const findings: MultisigFinding[] = [];
  if (index !== history.nextIndex) {
    findings.push({ kind: 'missing', what: `the creation of the transaction ${history.nextIndex} of the multisig` });
  }
  const open = history.batches.findIndex(({ batch }) => batch === account);
  const [batch] = open === -1 ? [] : history.batches.splice(open, 1);
  if (batch && batch.position > 0) {
    findings.push({ kind: 'missing', what: `pipeline ${batch.position - 1} of the batch ${index}` });
  }
  history.nextIndex = index - 1n;
  return findings;
}

function passExecution(
  history: MultisigHistory,
  { batch, transaction }: { readonly batch: string; readonly transaction: string },
): MultisigFinding[] {
  const { multisig, batches } = history;
  const known = batches.find((each) => each.batch === batch);
  const index = known?.index ?? createdIndex(history, batch, ANY_DEPTH);
  if (index === null) return [{ kind: 'missing', what: `the end of the batch ${batch}` }];
  const position = positionOf(transaction, { multisig, index, expected: known ? known.position - 1 : null });
  if (position === null) return [{ kind: 'missing', what: `the place of a pipeline in the batch ${index}` }];
  if (!known) {
    batches.push({ batch, index, position });
    return [];
  }
  const expected = known.position - 1;
  known.position = position;
  return position === expected ? [] : [{ kind: 'missing', what: `pipeline ${expected} of the batch ${index}` }];
}

/**
 * Finds the position of the pipeline whose batch transaction has an address; null if the batch has none there.
 * @param expected is tried first, and no higher position is: executions are read backwards, one by one.
 */
export function positionOf(
  transaction: string,
  {
    multisig,
    index,
    expected = null,
  }: { readonly multisig: Address; readonly index: bigint; readonly expected?: number | null },
): number | null {
  const isAt = (position: number) => batchTransactionAddress(multisig, index, position) === transaction;
  if (expected !== null && expected >= 0 && isAt(expected)) return expected;
  for (let position = 0; position < (expected ?? MAX_POSITION); position++) if (isAt(position)) return position;
  return null;
}

function describeChanges(history: MultisigHistory, account: string, data: ReadonlyUint8Array): MultisigFinding[] {
  const open = history.changes.findIndex((each) => each.account === account);
  const [change] = open === -1 ? [] : history.changes.splice(open, 1);
  if (!change) return [];
  const { actions } = configTransactionCreateArgsDecoder.decode(data, DISCRIMINATOR_BYTES);
  const changes = actions.map((action) => describeMemberChange(toChange(action))).join(', then ');
  return [{ kind: 'rotation', executed: change, changes }];
}

function hexOf(data: ReadonlyUint8Array): string {
  return Array.from(data.slice(0, DISCRIMINATOR_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
