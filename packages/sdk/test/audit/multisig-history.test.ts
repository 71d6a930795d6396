import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  batchTransactionAddress,
  getBatchCreateInstruction,
  getBatchExecuteTransactionInstruction,
  multisigAddress,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import { addressNamed } from '@flywheel/testing/synthetic-vault';
import type { Instruction } from '@solana/kit';
import { type MultisigHistory, missingAtStart, readMultisig } from '../../src/audit/multisig-history.ts';

const [multisig, member] = [multisigAddress(addressNamed('create key')), addressNamed('member')];

/** Instructions of a multisig's history, newest first, and what is missing between them. */
const HISTORIES: readonly {
  readonly name: string;
  readonly newest: bigint;
  readonly shown: readonly Instruction[];
  readonly missing: readonly string[];
}[] = [
  {
    name: 'nothing',
    newest: 2n,
    shown: [executed(2n, 1), executed(2n, 0), created(2n), executed(1n, 0), created(1n)],
    missing: [],
  },
  {
    name: 'a batch that executed nothing',
    newest: 3n,
    shown: [created(3n), created(1n)],
    missing: ['the creation of the transaction 2 of the multisig'],
  },
  {
    name: 'the first batch',
    newest: 2n,
    shown: [created(2n)],
    missing: ['the creation of the transaction 1 of the multisig'],
  },
  {
    name: 'the newest batch',
    newest: 2n,
    shown: [created(1n)],
    missing: ['the creation of the transaction 2 of the multisig'],
  },
  {
    name: 'a pipeline in the middle of a batch',
    newest: 1n,
    shown: [executed(1n, 2), executed(1n, 0), created(1n)],
    missing: ['pipeline 1 of the batch 1'],
  },
  {
    name: 'the first pipeline of a batch',
    newest: 1n,
    shown: [executed(1n, 1), created(1n)],
    missing: ['pipeline 0 of the batch 1'],
  },
  {
    name: 'another pipeline than one that is shown twice',
    newest: 1n,
    shown: [executed(1n, 1), executed(1n, 1), executed(1n, 0), created(1n)],
    missing: ['the place of a pipeline in the batch 1'],
  },
  {
    name: 'the creation after which a batch was executed',
    newest: 1n,
    shown: [created(1n), executed(1n, 0)],
    missing: [`the end of the batch ${transactionAddress(multisig, 1n)}`],
  },
];

describe('the history of a multisig', () => {
  for (const { name, newest, shown, missing } of HISTORIES) {
    it(`shows that it lacks ${name}`, () => {
      const history: MultisigHistory = { multisig, nextIndex: newest, batches: [], changes: [] };
      const place = { slot: 1, executedAt: null, signature: 's', isCounted: true };
      const found = shown.flatMap((instruction) =>
        readMultisig(history, { calls: [{ instruction, inner: [] }] }, place).map((finding) =>
          finding.kind === 'missing' ? finding.what : finding.kind,
        ),
      );
      assert.deepEqual([...found, ...[missingAtStart(history)].filter((what) => what !== null)], missing);
    });
  }
});

function created(index: bigint): Instruction {
  const batch = transactionAddress(multisig, index);
  return getBatchCreateInstruction({ multisig, batch, creator: member, rentPayer: member, vaultIndex: 0, memo: null });
}

function executed(index: bigint, position: number): Instruction {
  return getBatchExecuteTransactionInstruction({
    ...{ multisig, member, proposal: proposalAddress(multisig, index), batch: transactionAddress(multisig, index) },
    transaction: batchTransactionAddress(multisig, index, position),
  });
}
