import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findMultisig } from '@flywheel/testing/chain';
import { createProject } from '@flywheel/testing/project';
import { randomAddress } from '@flywheel/testing/records';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, fetchEncodedAccounts } from '@solana/kit';
import { createMultisigCheck } from '../../src/batches/check/multisig.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import type { Multisig } from '../../src/model/project.ts';

describe('a worker without the keys of a project', () => {
  let world: World;
  let multisig: Multisig;
  before(async () => {
    world = await openWorld();
    multisig = await findMultisig(world, await createProject(world));
  });
  after(() => world.stop());

  it('accepts it with the keys that are its members', async () => {
    await check({ operator: multisig.operator, companies: [multisig.company] });
  });

  it('names the operator to whom its rent goes, and the setting of a previous one', async () => {
    await assert.rejects(check({ operator: randomAddress(), companies: [multisig.company] }), {
      message: `The rent of the multisig ${multisig.address} goes to ${multisig.operator}, which is not the operator of this worker. If it was before, set OPERATOR_SIGNER_PREVIOUS to its key.`,
    });
  });

  it('names its voters, and the setting of a previous approver', async () => {
    const none = check({ operator: multisig.operator, companies: [randomAddress()] });
    await assert.rejects(none, ({ message }: Error) => {
      assert.match(message, / vote in the multisig \w+, and neither is the company approver of this worker\. If /);
      return [multisig.wallet, multisig.company].every((voter) => message.includes(voter));
    });
  });

  function check({ operator, companies }: { readonly operator: Address; readonly companies: readonly Address[] }) {
    const accounts = (addresses: readonly Address[]) => fetchEncodedAccounts(world.rpc, [...addresses]);
    const keys = { operator, previousOperator: null, companies: new Set(companies) };
    // The check reads accounts and nothing else.
    return createMultisigCheck(keys)({ chain: { accounts } } as unknown as RunDeps, multisig);
  }
});
