import type { BatchAccount, MultisigAccount, ProposalStatus } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { numberedTransactionAddress, proposalAddress } from '../addresses.ts';
import {
  accountAt,
  type Call,
  checkWritable,
  close,
  decodeAccount,
  type Loaded,
  loadAt,
  save,
  systemProgramAt,
} from '../call.ts';
import { check } from '../errors.ts';
import { checkMultisigSeeds } from './multisig.ts';

/** Closes the last transaction of a batch that can no longer be executed; its rent goes to the rent collector. */
export function vaultBatchTransactionAccountClose(call: Call): void {
  const multisig = loadAt(call, 0, 'Multisig');
  const proposal = loadAt(call, 1, 'Proposal');
  const batch = loadAt(call, 2, 'Batch');
  const transaction = loadAt(call, 3, 'VaultBatchTransaction');
  accountAt(call, 4);
  systemProgramAt(call, 5);

  checkRentReclaimable(multisig);
  check(proposal.value.multisig === multisig.address, 'ProposalForAnotherMultisig');
  checkWritable(call, 2);
  check(batch.value.multisig === multisig.address, 'TransactionForAnotherMultisig');
  check(batch.value.index === proposal.value.transactionIndex, 'TransactionNotMatchingProposal');
  checkWritable(call, 3);
  check(transaction.address !== accountAt(call, 4).address, 'ConstraintClose');
  const rentCollector = rentCollectorAt(call, 4, multisig.value);
  const last = numberedTransactionAddress(multisig.address, batch.value.index, batch.value.size);
  check(transaction.address === last.address, 'TransactionNotLastInBatch');
  const isStale = proposal.value.transactionIndex <= multisig.value.staleTransactionIndex;
  check(canClose(proposal.value.status, isStale), 'InvalidProposalStatus');
  close(call, transaction.address, rentCollector);
  save(call, batch.address, 'Batch', { ...batch.value, size: batch.value.size - 1 });
}

/** Closes an emptied batch and its proposal; their rent goes to the rent collector. */
export function batchAccountsClose(call: Call): void {
  const multisig = loadAt(call, 0, 'Multisig');
  const proposalTarget = accountAt(call, 1).address;
  const batch = loadAt(call, 2, 'Batch');
  accountAt(call, 3);
  systemProgramAt(call, 4);

  checkRentReclaimable(multisig);
  check(proposalTarget === proposalAddress(multisig.address, batch.value.index).address, 'ConstraintSeeds');
  checkWritable(call, 1);
  checkWritable(call, 2);
  check(batch.value.multisig === multisig.address, 'TransactionForAnotherMultisig');
  check(batch.address !== accountAt(call, 3).address, 'ConstraintClose');
  const rentCollector = rentCollectorAt(call, 3, multisig.value);
  const isStale = batch.value.index <= multisig.value.staleTransactionIndex;
  const proposal = call.chain.read(proposalTarget);
  const hasProposal = proposal !== null && proposal.data.length > 0;
  const closable = hasProposal ? canClose(decodeAccount(proposal.data, 'Proposal').status, isStale) : isStale;
  check(closable, 'InvalidProposalStatus');
  checkEmpty(batch);
  if (hasProposal) close(call, proposalTarget, rentCollector);
  close(call, batch.address, rentCollector);
}

export function checkRentReclaimable(multisig: Loaded<MultisigAccount>): void {
  checkMultisigSeeds(multisig);
  check(multisig.value.rentCollector !== null, 'RentReclamationDisabled');
}

export function rentCollectorAt(call: Call, position: number, multisig: MultisigAccount): Address {
  const { address } = accountAt(call, position);
  checkWritable(call, position);
  check(address === multisig.rentCollector, 'InvalidRentCollector');
  return address;
}

function checkEmpty(batch: Loaded<BatchAccount>): void {
  check(batch.value.size === 0, 'BatchNotEmpty');
}

/** Checks that a batch can be closed. Approved ones stay open even if stale, since they can still be executed. */
export function canClose(status: ProposalStatus, isStale: boolean): boolean {
  switch (status.__kind) {
    case 'Draft':
    case 'Active':
      return isStale;
    case 'Approved':
    case 'Executing':
      return false;
    case 'Rejected':
    case 'Executed':
    case 'Cancelled':
      return true;
    default:
      throw new Error(`Unknown proposal status: ${JSON.stringify(status satisfies never)}.`);
  }
}
