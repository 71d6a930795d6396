import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pipeline } from '@flywheel/api';
import { encodeInstruction } from '@flywheel/protocol';
import { multisigAddress, vaultAddress, vaultMessageSize } from '@flywheel/squads';
import { compilePipeline } from '@flywheel/testing/compile';
import { address } from '@solana/kit';
import instructionVectors from '../../../../vectors/instructions.json' with { type: 'json' };
import vaultMessageVectors from '../../../../vectors/vault-messages.json' with { type: 'json' };
import type { Project } from '../../src/model/project.ts';
import { lookupTableAddresses } from '../../src/squads/registration.ts';

/** The golden files were computed from the published layouts, independently of this code. */
describe('compilation', () => {
  for (const vector of instructionVectors.pipelines) {
    it(`of ${vector.name} gives the golden instructions and vault message`, async () => {
      const project = projectOf(vector.project);
      const pipeline = Pipeline.parse(vector.pipeline);
      const compiled = await compilePipeline(pipeline, project);
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

    it(`of ${vector.name} derives the golden addresses`, async () => {
      const { createKey, multisig, vault, lookupTable, mint, tokenProgram } = vector.project;
      assert.equal(multisigAddress(address(createKey)), multisig);
      assert.equal(vaultAddress(address(multisig), 0), vault);
      const addresses = lookupTableAddresses({
        multisig: address(multisig),
        vault: address(vault),
        token: { mint: address(mint), programAddress: address(tokenProgram) },
        lookupTable: address(lookupTable.address),
      });
      assert.deepEqual(addresses, lookupTable.addresses);
    });
  }
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
        recovery: null,
        rentCollector: unused,
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
