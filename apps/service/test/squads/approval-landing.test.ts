import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { decodeProposal, planTransactions } from '@flywheel/squads';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  assertIsFullySignedTransaction,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  type KeyPairSigner,
  type Nonce,
  partiallySignTransaction,
  type Transaction,
} from '@solana/kit';
import {
  decodeNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getNonceSize,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import type { LeasedNonce } from '../../src/model/batch.ts';
import type { Multisig, Token } from '../../src/model/project.ts';
import { approveTransaction } from '../../src/squads/approval.ts';
import { checkApproval } from '../../src/squads/approval-check.ts';
import { setupGroups } from '../../src/squads/groups.ts';
import { locateBatch } from '../../src/squads/instructions.ts';
import {
  type Cluster,
  createToken,
  land,
  landMessage,
  landTransaction,
  openCluster,
  projectOf,
  readAccount,
  register,
  withoutSquads,
} from './cluster.ts';

describe('the approval, on the deployed Squads program', { skip: withoutSquads }, () => {
  let cluster: Cluster;
  let token: Token;

  before(async () => {
    cluster = await openCluster();
    token = await createToken(cluster);
  });

  it('approves the proposal days after it was built, once checked and signed by all three', async () => {
    const { operator, company, wallet, svm } = cluster;
    // Several multisigs, since the compute units of an instruction vary with its addresses.
    for (let round = 0; round < 5; round += 1) {
      const { multisig } = await register(cluster, token);
      const nonce = await createNonce();
      await setUp(multisig);
      const built = approveTransaction(multisig, 1n, nonce);
      for (let blocks = 0; blocks < 200; blocks += 1) svm.expireBlockhash();

      const signedTx = getBase64EncodedWireTransaction(await sign(wallet, decodeTransaction(built)));
      const expected = { batchId: 'batch', batchIndex: 1n, multisig, nonce };
      await checkApproval(signedTx, expected);
      const signed = await sign(company, await sign(operator, decodeTransaction(signedTx)));
      assertIsFullySignedTransaction(signed);
      const { units } = landTransaction(cluster, signed);
      const { status, approved } = decodeProposal(readAccount(cluster, locateBatch(multisig, 1n).proposal));
      assert.equal(status.__kind, 'Approved');
      assert.deepEqual([...approved].sort(), [company.address, wallet.address].sort());
      assert.ok(units <= 30_000n, `${units} units; half of what the approval asks for`);

      const moved = { ...expected, nonce: { ...nonce, value: nonceValue(nonce) } };
      await assert.rejects(checkApproval(signedTx, moved), /the nonce has advanced/);
    }
  });

  async function setUp(multisig: Multisig): Promise<void> {
    const pipelines = await compilePipelines(
      [{ type: 'NOTE', payload: '{}', actions: [{ action: 'MEMO', message: 'hello' }] }],
      projectOf(token, multisig),
    );
    for (const { message } of planTransactions(setupGroups(multisig, { batchIndex: 1n, pipelines }), {
      version: 0,
      feePayer: cluster.operator.address,
      lookupTables: [multisig.lookupTable],
      computeUnitLimit: 1_400_000,
      computeUnitPriceMicroLamports: 0n,
    })) {
      await landMessage(cluster, [cluster.operator], message);
    }
  }

  async function createNonce(): Promise<LeasedNonce> {
    const { operator, svm } = cluster;
    const account = await generateKeyPairSigner();
    const space = BigInt(getNonceSize());
    await land(
      cluster,
      operator,
      [account],
      [
        getCreateAccountInstruction({
          payer: operator,
          newAccount: account,
          lamports: svm.minimumBalanceForRentExemption(space),
          space,
          programAddress: SYSTEM_PROGRAM_ADDRESS,
        }),
        getInitializeNonceAccountInstruction({ nonceAccount: account.address, nonceAuthority: operator.address }),
      ],
    );
    return { address: account.address, value: nonceValue(account) };
  }

  function nonceValue({ address }: Pick<LeasedNonce, 'address'>): Nonce {
    return decodeNonce(readAccount(cluster, address)).data.blockhash as string as Nonce;
  }
});

async function sign({ keyPair }: KeyPairSigner, transaction: Transaction): Promise<Transaction> {
  return partiallySignTransaction([keyPair], transaction as Parameters<typeof partiallySignTransaction>[1]);
}
