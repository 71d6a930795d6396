import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { formatProofMemo, MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { AccountRole, type Address, generateKeyPairSigner, type Instruction } from '@solana/kit';
import {
  findVaultProofs,
  getBatchAddTransactionInstruction,
  getBatchExecuteTransactionInstruction,
  multisigAddress,
  vaultAddress,
} from '../src/index.ts';

const MEMO = formatProofMemo({ type: 'PURCHASE', hash: 'a'.repeat(64) });

let multisig: Address;
let vault: Address;
let stranger: Address;
let execution: Instruction;
before(async () => {
  const { address } = await generateKeyPairSigner();
  ({ address: stranger } = await generateKeyPairSigner());
  multisig = multisigAddress(address);
  vault = vaultAddress(multisig, 0);
  execution = executionOf(multisig);
});

test('a proof is the first instruction that the execution of a pipeline calls', async () => {
  const calls = [{ instruction: execution, inner: [memo(vault, MEMO), memo(vault, MEMO)] }];
  const proof = { type: 'PURCHASE', hash: 'a'.repeat(64), text: MEMO, vault, multisig };
  assert.deepEqual(findVaultProofs(calls), [proof]);
  assert.deepEqual(findVaultProofs([...calls, ...calls]), [proof, proof]);
});

test('a memo anywhere else is not a proof', async () => {
  const proof = memo(vault, MEMO);
  const add = getBatchAddTransactionInstruction({
    ...{ multisig, proposal: stranger, batch: stranger, transaction: stranger, member: stranger, rentPayer: stranger },
    ...{ ephemeralSigners: 0, transactionMessage: new Uint8Array() },
  });
  for (const [instruction, inner] of [
    [execution, [memo(vault, 'a memo'), proof]],
    [execution, [add, proof]],
    [execution, [memo(vault, ` ${MEMO}`)]],
    [execution, []],
    [proof, []],
    [add, [proof]],
    [{ ...execution, programAddress: stranger }, [proof]],
    [{ ...execution, data: new Uint8Array() }, [proof]],
    [{ ...execution, accounts: [] }, [proof]],
  ] satisfies [Instruction, Instruction[]][]) {
    assert.deepEqual(findVaultProofs([{ instruction, inner }]), []);
  }
});

test('a memo is not a proof unless the vault of the executing multisig alone has signed it', async () => {
  const theirs = executionOf(multisigAddress(stranger));
  const { accounts = [], ...rest } = memo(vault, MEMO);
  for (const [instruction, inner] of [
    [theirs, memo(vault, MEMO)],
    [execution, memo(stranger, MEMO)],
    [execution, { ...rest, accounts: [...accounts, { address: stranger, role: AccountRole.READONLY }] }],
    [execution, rest],
    [execution, { ...memo(vault, MEMO), programAddress: stranger }],
  ] satisfies [Instruction, Instruction][]) {
    assert.deepEqual(findVaultProofs([{ instruction, inner: [inner] }]), []);
  }
});

function executionOf(owner: Address): Instruction {
  return getBatchExecuteTransactionInstruction({
    ...{ multisig: owner, member: stranger, proposal: stranger, batch: stranger, transaction: stranger },
  });
}

function memo(signer: Address, text: string): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: [{ address: signer, role: AccountRole.READONLY_SIGNER }],
    data: new TextEncoder().encode(text),
  };
}
