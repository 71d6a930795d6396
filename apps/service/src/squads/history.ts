import {
  BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR,
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  batchAddTransactionArgsDecoder,
  batchTransactionAddress,
  CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR,
  CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
  configTransactionCreateArgsDecoder,
  DISCRIMINATOR_BYTES,
  encodeConfigActions,
  hasDiscriminator,
  PROPOSAL_APPROVE_DISCRIMINATOR,
  PROPOSAL_CANCEL_DISCRIMINATOR,
  SQUADS_PROGRAM_ADDRESS,
  VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR,
} from '@flywheel/squads';
import { type Address, bytesEqual, type Instruction, type ReadonlyUint8Array } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { type LocatedBatch, locateBatch } from './instructions.ts';
import { THRESHOLD } from './registration.ts';

/**
 * The past of a closed batch: `executed` pipelines of ours; `foreign` if its index held other content; `incomplete` if the
 * instructions do not show its whole life, which decides nothing.
 */
export type BatchHistory = { readonly executed: number } | 'foreign' | 'incomplete';

/** Reads the past of a batch from instructions, and keeps nothing of them but what they show. */
export interface HistoryReader {
  /** Reads instructions of successful transactions. Their order does not matter. */
  read(instructions: readonly Instruction[]): void;
  /** Returns the past that all instructions so far show together. */
  result(): BatchHistory;
}

/**
 * Creates a reader of the instructions of the successful transactions that name the proposal of a batch. Anyone can name
 * our addresses anywhere in instructions of a multisig of their own, so an instruction counts only if the addresses that we
 * derive stand at their exact positions, and each pipeline counts once.
 */
export function createHistoryReader(
  multisig: Multisig,
  batch: Pick<Batch, 'kind' | 'batchIndex' | 'pipelines'>,
): HistoryReader {
  const located = locateBatch(multisig, batch.batchIndex);
  return batch.kind === 'rotation' ? rotationHistory(located, batch) : pipelineHistory(located, batch);
}

function pipelineHistory(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  { pipelines }: Pick<Batch, 'pipelines'>,
): HistoryReader {
  const addresses = pipelines.map((_, position) => batchTransactionAddress(multisig.address, batchIndex, position));
  const positionOf = new Map(addresses.map((transaction, position) => [transaction, position]));
  const [added, executed, closed] = [new Set<number>(), new Set<number>(), new Set<number>()];
  const votes = createVotes(multisig.address, proposal);
  let [isForeign, isCreated, isEnded] = [false, false, false];
  return {
    read(instructions) {
      const find = finder(instructions);
      // The order of each list of accounts is the program's (IDL of @sqds/multisig).
      isForeign ||= find(CONFIG_TRANSACTION_CREATE_DISCRIMINATOR, [multisig.address, address]).length > 0;
      isCreated ||= find(BATCH_CREATE_DISCRIMINATOR, [multisig.address, address]).length > 0;
      isEnded ||= find(BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR, [multisig.address, proposal, address]).length > 0;
      votes.read(find);
      const adds = find(BATCH_ADD_TRANSACTION_DISCRIMINATOR, [multisig.address, proposal, address]);
      const executes = find(BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR, [multisig.address, null, proposal, address]);
      const closes = find(VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR, [multisig.address, proposal, address]);
      for (const position of positionsIn(adds, 3, positionOf)) added.add(position);
      for (const position of positionsIn(executes, 4, positionOf)) executed.add(position);
      for (const position of positionsIn(closes, 3, positionOf)) closed.add(position);
      isForeign ||= adds.some((add) => {
        const compiled = pipelines[positionOf.get(accountAt(add, 3)) ?? -1]?.vaultMessage;
        return compiled === undefined || !bytesEqual(messageIn(add), compiled);
      });
    },
    result() {
      if (isForeign) return 'foreign';
      // Every message that was added has to be closed before the batch is: the closes tell how many there were.
      const isWhole = isEnded && added.size === closed.size && isPrefix(added) && isPrefix(closed);
      if (!isWhole || !isPrefix(executed) || executed.size > added.size) return 'incomplete';
      // The service opens a batch for votes only when it is whole.
      if (executed.size > 0 && added.size < pipelines.length) return 'incomplete';
      if (executed.size < added.size && !votes.canCloseUnexecuted()) return 'incomplete';
      if (added.size > 0) return { executed: executed.size };
      // An index that was created and closed empty: this service uses up indices like this.
      return isCreated ? 'foreign' : 'incomplete';
    },
  };
}

/** Reads a rotation's past: its list of config actions stands for its only vault message. */
function rotationHistory(
  { multisig, address, proposal }: LocatedBatch,
  { pipelines }: Pick<Batch, 'pipelines'>,
): HistoryReader {
  const compiled = pipelines[0]?.vaultMessage;
  const votes = createVotes(multisig.address, proposal);
  let [isForeign, isCreated, isExecuted, isEnded] = [false, false, false, false];
  return {
    read(instructions) {
      const find = finder(instructions);
      const creations = find(CONFIG_TRANSACTION_CREATE_DISCRIMINATOR, [multisig.address, address]);
      const executes = find(CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR, [multisig.address, null, proposal, address]);
      const ends = find(CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR, [multisig.address, proposal, address]);
      isForeign ||= find(BATCH_CREATE_DISCRIMINATOR, [multisig.address, address]).length > 0;
      isForeign ||= creations.some(
        (creation) => compiled === undefined || !bytesEqual(configActionsIn(creation), compiled),
      );
      isCreated ||= creations.length > 0;
      isExecuted ||= executes.length > 0;
      isEnded ||= ends.length > 0;
      votes.read(find);
    },
    result() {
      if (isForeign) return 'foreign';
      if (!isCreated || !isEnded) return 'incomplete';
      if (isExecuted) return { executed: 1 };
      return votes.canCloseUnexecuted() ? { executed: 0 } : 'incomplete';
    },
  };
}

/** Collects the votes on a proposal. */
function createVotes(multisig: Address, proposal: Address) {
  const approvers = new Set<Address>();
  let isCancelled = false;
  return {
    read(find: Find): void {
      const approvals = find(PROPOSAL_APPROVE_DISCRIMINATOR, [multisig, null, proposal]);
      for (const approval of approvals) approvers.add(accountAt(approval, 1));
      isCancelled ||= find(PROPOSAL_CANCEL_DISCRIMINATOR, [multisig, null, proposal]).length > 0;
    },
    /** True unless both have approved and no one cancelled: Squads closes such a proposal only after its execution. */
    canCloseUnexecuted: () => approvers.size < THRESHOLD || isCancelled,
  };
}

type Find = ReturnType<typeof finder>;

interface SquadsCall {
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
}

/** Finds the Squads instructions of a kind whose first accounts are the given ones; null stands for any account. */
function finder(instructions: readonly Instruction[]) {
  const calls = instructions
    .filter(({ programAddress }) => programAddress === SQUADS_PROGRAM_ADDRESS)
    .map(({ accounts = [], data = new Uint8Array() }): SquadsCall => {
      return { accounts: accounts.map(({ address }) => address), data };
    });
  return (discriminator: ReadonlyUint8Array, expected: readonly (Address | null)[]): SquadsCall[] =>
    calls.filter(
      ({ accounts, data }) =>
        hasDiscriminator(data, discriminator) &&
        expected.every((address, position) => address === null || accounts[position] === address),
    );
}

function accountAt({ accounts }: SquadsCall, position: number): Address {
  const account = accounts[position];
  if (account === undefined) throw new Error(`A Squads instruction has ${accounts.length} accounts.`);
  return account;
}

function messageIn({ data }: SquadsCall): ReadonlyUint8Array {
  return batchAddTransactionArgsDecoder.decode(data, DISCRIMINATOR_BYTES).transactionMessage;
}

function configActionsIn({ data }: SquadsCall): ReadonlyUint8Array {
  return encodeConfigActions(configTransactionCreateArgsDecoder.decode(data, DISCRIMINATOR_BYTES).actions);
}

/** Lists the pipelines whose own accounts stand at a position of the calls; other accounts there count for nothing. */
function positionsIn(
  calls: readonly SquadsCall[],
  accountPosition: number,
  positionOf: ReadonlyMap<Address, number>,
): number[] {
  return calls.flatMap((call) => positionOf.get(accountAt(call, accountPosition)) ?? []);
}

/** True if the positions are 0, 1, … without a gap. */
function isPrefix(positions: ReadonlySet<number>): boolean {
  return Array.from({ length: positions.size }, (_, position) => position).every((position) => positions.has(position));
}
