import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pipeline } from '@flywheel/api';
import { multisigAddress, vaultAddress, vaultMessageSize } from '@flywheel/squads';
import { AccountRole, address, type Instruction } from '@solana/kit';
import * as z from 'zod';
import instructionVectors from '../../../../vectors/instructions.json' with { type: 'json' };
import proofMemoVectors from '../../../../vectors/proof-memos.json' with { type: 'json' };
import vaultMessageVectors from '../../../../vectors/vault-messages.json' with { type: 'json' };
import { compilePipeline } from '../../src/compile/compile-pipeline.ts';
import { decodeInstruction, encodeInstruction } from '../../src/compile/instruction-bytes.ts';
import { proofMemo } from '../../src/compile/proof-memo.ts';
import type { Project } from '../../src/model/project.ts';
import { lookupTableAddresses } from '../../src/squads/registration.ts';

/** The files were computed apart from this code, from the published layouts. */
describe('golden data in vectors/', () => {
  for (const { type, payload, memo } of proofMemoVectors.proofMemos) {
    it(`proof memo of ${type} ${payload}`, () => assert.equal(proofMemo({ type, payload }), memo));
  }

  for (const vector of instructionVectors.pipelines) {
    it(`instructions and vault message of ${vector.name}`, async () => {
      const project = projectOf(vector.project);
      const pipeline = Pipeline.parse(vector.pipeline);
      const compiled = await compilePipeline(pipeline, 0, project);
      assert.deepEqual(
        compiled.instructions.map(encodeInstruction),
        vector.instructions.map(({ base64 }) => base64),
      );
      const expected = vaultMessageVectors.vaultMessages.find(({ name }) => name === vector.name);
      assert.equal(Buffer.from(compiled.vaultMessage).toString('hex'), expected?.vaultMessageHex);
      assert.equal(
        vaultMessageSize(compiled.instructions, {
          vault: project.flywheel.multisig.vault,
          lookupTables: [project.flywheel.multisig.lookupTable],
        }),
        compiled.vaultMessage.length,
      );
    });

    it(`the wire’s instructions of ${vector.name} decode to what they were encoded from`, () => {
      for (const { base64, ...fields } of vector.instructions) {
        const decoded = decodeInstruction(base64);
        assert.deepEqual({ ...decoded, data: Buffer.from(decoded.data ?? []) }, instructionOf(fields));
      }
    });

    it(`addresses of ${vector.name}`, async () => {
      const { createKey, multisig, vault, lookupTable, mint, tokenProgram } = vector.project;
      assert.equal(await multisigAddress(address(createKey)), multisig);
      assert.equal(await vaultAddress(address(multisig), 0), vault);
      const addresses = await lookupTableAddresses({
        multisig: address(multisig),
        vault: address(vault),
        token: { mint: address(mint), programAddress: address(tokenProgram) },
        lookupTable: address(lookupTable.address),
      });
      assert.deepEqual(addresses, lookupTable.addresses);
    });
  }

  it('an instruction with bytes missing or left over is refused', () => {
    const [vector] = instructionVectors.pipelines;
    const bytes = Buffer.from(z.string().parse(vector?.instructions[0]?.base64), 'base64');
    assert.throws(
      () => decodeInstruction(Buffer.concat([bytes, Buffer.of(0)]).toString('base64')),
      /followed by 1 more/,
    );
    assert.throws(() => decodeInstruction(bytes.subarray(0, -1).toString('base64')));
  });
});

type ProjectVector = (typeof instructionVectors.pipelines)[number]['project'];

function projectOf(vector: ProjectVector): Pick<Project, 'token' | 'flywheel'> {
  const unused = address('11111111111111111111111111111111');
  return {
    token: {
      id: 'token',
      mint: address(vector.mint),
      decimals: vector.decimals,
      programAddress: address(vector.tokenProgram),
    },
    flywheel: {
      id: 'flywheel',
      multisig: {
        address: address(vector.multisig),
        vault: address(vector.vault),
        vaultIndex: 0,
        operator: unused,
        company: unused,
        wallet: unused,
        lookupTable: {
          address: address(vector.lookupTable.address),
          addresses: vector.lookupTable.addresses.map((listed) => address(listed)),
        },
      },
    },
  };
}

function instructionOf(
  fields: Omit<(typeof instructionVectors.pipelines)[number]['instructions'][number], 'base64'>,
): Instruction {
  return {
    programAddress: address(fields.programAddress),
    accounts: fields.accounts.map((account) => ({
      address: address(account.address),
      role: roles[`${account.isSigner}-${account.isWritable}`],
    })),
    data: Buffer.from(fields.dataHex, 'hex'),
  };
}

const roles = {
  'false-false': AccountRole.READONLY,
  'false-true': AccountRole.WRITABLE,
  'true-false': AccountRole.READONLY_SIGNER,
  'true-true': AccountRole.WRITABLE_SIGNER,
} as const;
