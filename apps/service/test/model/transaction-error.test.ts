import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  failedInstruction,
  isCausedByPipeline,
  isFeeUnpaid,
  isNodeBehind,
  isShortOfFunds,
  mayBeCausedByRecipient,
} from '../../src/model/transaction-error.ts';

/** Errors of a real validator (packages/localnet/test/conformance/answers.jsonl), and of the token programs. */
const TEXTS = {
  shortOfTokens: '{"InstructionError":[1,{"Custom":1}]}',
  shortOfRent: '{"InsufficientFundsForRent":{"account_index":1}}',
  operatorShortOfRent: '{"InsufficientFundsForRent":{"account_index":0}}',
  invalidData: '{"InstructionError":[0,"InvalidInstructionData"]}',
  twoDigits: '{"InstructionError":[12,{"Custom":12}]}',
  frozen: '{"InstructionError":[2,{"Custom":17}]}',
  paused: '{"InstructionError":[2,{"Custom":67}]}',
  hooked: '{"InstructionError":[2,"MissingAccount"]}',
  otherDecimals: '{"InstructionError":[2,{"Custom":18}]}',
  beyondBudget: '{"InstructionError":[0,"ComputationalBudgetExceeded"]}',
  noFee: '"InsufficientFundsForFee"',
  noFeePayer: '"AccountNotFound"',
  noProgram: '"ProgramAccountNotFound"',
  noBlockhash: '"BlockhashNotFound"',
  noTable: '"AddressLookupTableNotFound"',
  shortTable: '"InvalidAddressLookupTableIndex"',
} as const;

const CAUSES: readonly {
  readonly test: (err: string) => boolean;
  readonly expected: readonly (keyof typeof TEXTS)[];
}[] = [
  { test: isShortOfFunds, expected: ['shortOfTokens', 'shortOfRent', 'operatorShortOfRent'] },
  {
    test: isCausedByPipeline,
    expected: [
      'shortOfTokens',
      'shortOfRent',
      'invalidData',
      'twoDigits',
      'frozen',
      'paused',
      'hooked',
      'otherDecimals',
      'beyondBudget',
    ],
  },
  { test: isFeeUnpaid, expected: ['operatorShortOfRent', 'noFee', 'noFeePayer'] },
  { test: isNodeBehind, expected: ['noTable', 'shortTable'] },
];

describe('a TransactionError', () => {
  for (const { test, expected } of CAUSES) {
    it(`satisfies ${test.name} if it is one of: ${expected.join(', ')}`, () => {
      const found = Object.entries(TEXTS).flatMap(([name, err]) => (test(err) ? [name] : []));
      assert.deepEqual(found, expected);
    });
  }

  it('names the instruction that failed, if one did', () => {
    const { shortOfTokens, twoDigits, beyondBudget, shortOfRent, noFee } = TEXTS;
    const found = [shortOfTokens, twoDigits, beyondBudget, shortOfRent, noFee].map(failedInstruction);
    assert.deepEqual(found, [1, 12, 0, null, null]);
  });

  it('may be caused by a recipient unless the vault, the mint or the transaction’s bounds cause it', () => {
    const { frozen, invalidData, shortOfTokens, shortOfRent, paused, hooked, otherDecimals, beyondBudget } = TEXTS;
    assert.deepEqual([frozen, invalidData].map(mayBeCausedByRecipient), [true, true]);
    const others = [shortOfTokens, shortOfRent, paused, hooked, otherDecimals, beyondBudget];
    assert.deepEqual(others.filter(mayBeCausedByRecipient), []);
  });
});
