import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  countPipelineInstructions,
  decodeInstruction,
  describeInstruction,
  encodeInstruction,
  MEMO_PROGRAM_ADDRESS,
} from '@flywheel/protocol';
import { AccountRole, type Address, address, createNoopSigner, getBase64Codec, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  getBurnCheckedInstruction,
  getBurnInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';

const [A, B, C] = [1, 2, 3].map((byte) => addressOf(byte)) as [Address, Address, Address];
const signer = createNoopSigner(A);

describe('describeInstruction', () => {
  const words = (instruction: Instruction) => {
    const { programAddress, accounts = [], data = new Uint8Array() } = instruction;
    const described = { programAddress, accounts: accounts.map((account) => account.address), data };
    const { program, text } = describeInstruction(described);
    return `${program} ${text}`;
  };

  it('says what each instruction of a vault does', () => {
    const text = (message: string) => ({
      programAddress: MEMO_PROGRAM_ADDRESS,
      data: new TextEncoder().encode(message),
    });
    assert.equal(words(text('grüezi')), 'Memo writes “grüezi”');
    const sol = getTransferSolInstruction({ source: signer, destination: B, amount: 1_234_500_000_000n });
    assert.equal(words(sol), `System transfers 1,234.5 SOL to ${B}`);
    const burn = getBurnCheckedInstruction({ account: B, mint: C, authority: signer, amount: 1_500_000n, decimals: 6 });
    assert.equal(words(burn), `Token burns 1.5 tokens of ${B}`);
    const creation = getCreateAssociatedTokenIdempotentInstruction({ payer: signer, ata: B, owner: C, mint: A });
    assert.equal(words(creation), `Associated Token creates the token account of ${C} if it is missing`);
    const transfer = getTransferCheckedInstruction(
      { source: B, mint: A, destination: C, authority: signer, amount: 1n, decimals: 0 },
      { programAddress: TOKEN_2022_PROGRAM_ADDRESS },
    );
    assert.equal(words(transfer), `Token-2022 transfers 1 token to the token account ${C}`);
  });

  it('claims nothing about an unknown instruction, or one of another length', () => {
    const unchecked = getBurnInstruction({ account: B, mint: C, authority: signer, amount: 1n });
    assert.equal(words(unchecked), 'Token is called with 9 bytes and 3 accounts');
    const sol = getTransferSolInstruction({ source: signer, destination: B, amount: 1n });
    assert.equal(
      words({ ...sol, data: new Uint8Array([...sol.data, 0]) }),
      'System is called with 13 bytes and 2 accounts',
    );
    assert.equal(words({ programAddress: C }), `${C} is called with 0 bytes and 0 accounts`);
  });
});

describe('decodeInstruction', () => {
  const instruction = {
    programAddress: A,
    accounts: [
      AccountRole.READONLY,
      AccountRole.WRITABLE,
      AccountRole.READONLY_SIGNER,
      AccountRole.WRITABLE_SIGNER,
    ].map((role) => ({ address: B, role })),
    data: Uint8Array.of(1, 2, 3),
  };

  it('reads back what encodeInstruction writes, every account role included', () => {
    assert.deepEqual(decodeInstruction(encodeInstruction(instruction)), instruction);
  });

  it('throws for missing and remaining bytes', () => {
    const bytes = getBase64Codec().encode(encodeInstruction(instruction));
    const text = (part: ArrayLike<number>) => getBase64Codec().decode(Uint8Array.from(part));
    assert.throws(() => decodeInstruction(text([...bytes, 0])), /1 bytes after it/);
    assert.throws(() => decodeInstruction(text(Array.from(bytes).slice(0, -1))));
  });
});

describe('countPipelineInstructions', () => {
  const burn = { action: 'BURN' };
  const airdrop = (toAddress: string) => ({ action: 'AIRDROP', toAddress });

  it('counts the creation of a token account once for each recipient', () => {
    assert.equal(countPipelineInstructions([burn]), 7);
    assert.equal(countPipelineInstructions([airdrop(A), airdrop(A)]), 16);
    assert.equal(countPipelineInstructions([airdrop(A), airdrop(B), burn]), 23);
  });
});

function addressOf(byte: number): Address {
  return address('1'.repeat(31) + '123456789'[byte]);
}
