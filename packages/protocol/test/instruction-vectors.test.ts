import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeInstruction, describeInstruction } from '@flywheel/protocol';
import { isSignerRole, isWritableRole } from '@solana/kit';
import vectors from '../../../vectors/instructions.json' with { type: 'json' };

describe('golden instructions', () => {
  it('decodeInstruction reads the program, accounts and data of every vector', () => {
    for (const { instructions } of vectors.pipelines) {
      for (const { base64, programAddress, accounts, dataHex } of instructions) {
        const read = decodeInstruction(base64);
        const shown = {
          programAddress: read.programAddress,
          accounts: read.accounts.map(({ address, role }) => ({
            address,
            isSigner: isSignerRole(role),
            isWritable: isWritableRole(role),
          })),
          dataHex: Buffer.from(read.data).toString('hex'),
        };
        assert.deepEqual(shown, { programAddress, accounts, dataHex });
      }
    }
  });

  it('describeInstruction describes an airdrop', () => {
    const airdrop = vectors.pipelines.find(({ name }) => name === 'an airdrop of SPL Token');
    const descriptions = airdrop?.instructions.map(({ base64 }) => {
      const { accounts, ...instruction } = decodeInstruction(base64);
      const addresses = accounts.map(({ address }) => address);
      return describeInstruction({ ...instruction, accounts: addresses });
    });
    assert.deepEqual(descriptions?.slice(1), [
      {
        program: 'Associated Token',
        text: 'creates the token account of 9Qqhn8ffraDwVnXWKAV7Y1um2p1uhdhq1N2F9cVN52UM if it is missing',
      },
      {
        program: 'Token',
        text: 'transfers 0.000000001 tokens to the token account EHnrqd6utUbpguDwDKFiVbtb1ZngTTZedvAhtqvqU7gt',
      },
    ]);
  });
});
