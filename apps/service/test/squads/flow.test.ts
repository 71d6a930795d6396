import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { MAX_TRANSACTION_BYTES, proofMemo } from '@flywheel/protocol';
import {
  batchTransactionAddress,
  decodeBatch,
  decodeMultisig,
  decodeProgramConfig,
  decodeProposal,
  decodeVaultBatchTransaction,
  type InstructionGroup,
  planTransactions,
  programConfigAddress,
  type TransactionLimits,
  vaultTransactionMatches,
} from '@flywheel/squads';
import { generateKeyPairSigner } from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { decodeMint, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import type { CompiledPipeline } from '../../src/model/batch.ts';
import type { Multisig, Token } from '../../src/model/project.ts';
import { companyOnlyApproval } from '../../src/squads/approval.ts';
import { executionGroup, setupGroups } from '../../src/squads/groups.ts';
import {
  batchAccountsClose,
  batchCreate,
  type LocatedBatch,
  locateBatch,
  proposalActivate,
  proposalApprove,
  proposalCancel,
  proposalCreate,
  proposalReject,
  vaultBatchTransactionAccountClose,
} from '../../src/squads/instructions.ts';
import { registrationMismatch } from '../../src/squads/registration.ts';
import {
  type Cluster,
  createToken,
  fundVault,
  land,
  landMessage,
  openCluster,
  projectOf,
  readAccount,
  register,
  tokenBalance,
  withoutSquads,
} from './cluster.ts';

for (const [standard, tokenProgram] of [
  ['SPL Token', TOKEN_PROGRAM_ADDRESS],
  ['Token-2022', TOKEN_2022_PROGRAM_ADDRESS],
] as const) {
  describe(`the deployed Squads program, ${standard}`, { skip: withoutSquads }, () => {
    let cluster: Cluster;
    let token: Token;
    let multisig: Multisig;

    before(async () => {
      cluster = await openCluster();
      token = await createToken(cluster, tokenProgram);
    });

    it('registers a multisig and a frozen lookup table in one transaction, exactly as built', async () => {
      const registered = await register(cluster, token);
      multisig = registered.multisig;
      const onChain = {
        multisig: readAccount(cluster, multisig.address),
        lookupTable: readAccount(cluster, multisig.lookupTable.address),
      };
      assert.equal(registrationMismatch(onChain, registered), null);
      assert.ok(registered.landed.bytes <= MAX_TRANSACTION_BYTES[0], `${registered.landed.bytes} bytes`);
      assert.equal(decodeProgramConfig(readAccount(cluster, programConfigAddress())).treasury, cluster.treasury);
      const stranger = await generateKeyPairSigner();
      assert.match(
        registrationMismatch(onChain, { ...registered, multisig: { ...multisig, company: stranger.address } }) ?? '',
        /members is/,
      );
    });

    it('sets up, approves, executes and closes a batch, and moves exactly the requested tokens', async () => {
      await fundVault(cluster, multisig, token, 1_000_000_000n);
      // A recipient may be a stranger, or a signer of the execution's own transaction.
      const recipients = [await generateKeyPairSigner(), cluster.operator];
      const compiled = await compilePipelines(
        recipients.map(({ address }, index) => ({
          type: 'WATCH_AD',
          payload: JSON.stringify({ adId: index }),
          actions: [
            { action: 'MEMO', message: 'thank you' },
            { action: 'BURN', amount: 1.5 },
            { action: 'AIRDROP', toAddress: address, amount: 0.25 },
          ],
        })),
        projectOf(token, multisig),
      );
      const batch = locateBatch(multisig, 1n);
      await setUp(cluster, multisig, 1n, compiled);
      assert.deepEqual(
        pick(decodeBatch(readAccount(cluster, batch.address)), ['size', 'executedTransactionIndex', 'index']),
        { size: 2, executedTransactionIndex: 0, index: 1n },
      );
      for (const [position, { vaultMessage }] of compiled.entries()) {
        const stored = decodeVaultBatchTransaction(
          readAccount(cluster, batchTransactionAddress(multisig.address, 1n, position)),
        );
        assert.ok(vaultTransactionMatches(stored, vaultMessage));
        assert.ok(!vaultTransactionMatches(stored, Uint8Array.of(...vaultMessage, 0)));
      }

      await land(cluster, cluster.operator, [cluster.wallet], [proposalApprove(batch, cluster.wallet.address)]);
      assert.equal(decodeProposal(readAccount(cluster, batch.proposal)).status.__kind, 'Active');
      await land(cluster, cluster.operator, [cluster.company], companyOnlyApproval(multisig, 1n));
      assert.equal(decodeProposal(readAccount(cluster, batch.proposal)).status.__kind, 'Approved');

      const logs = await execute(cluster, multisig, 1n, compiled);
      for (const pipeline of compiled) assert.ok(logs.join('\n').includes(proofMemo(pipeline)));
      assert.equal(decodeProposal(readAccount(cluster, batch.proposal)).status.__kind, 'Executed');
      assert.equal(decodeBatch(readAccount(cluster, batch.address)).executedTransactionIndex, 2);
      for (const { address } of recipients) assert.equal(await tokenBalance(cluster, token, address), 250_000n);
      const supply = decodeMint(readAccount(cluster, token.mint)).data.supply;
      assert.equal(supply, 1_000_000_000n - 3_000_000n);

      await land(
        cluster,
        cluster.operator,
        [],
        [
          vaultBatchTransactionAccountClose(batch, 1),
          vaultBatchTransactionAccountClose(batch, 0),
          batchAccountsClose(batch),
        ],
      );
      assert.equal(cluster.svm.getBalance(batch.address) ?? 0n, 0n);
    });

    it('continues an interrupted setup', async () => {
      const compiled = await compilePipelines(memos(3), projectOf(token, multisig));
      const content = { batchIndex: 2n, pipelines: compiled };
      const groups = setupGroups(multisig, content);
      await landGroups(cluster, multisig, groups.slice(0, 2));
      const batch = locateBatch(multisig, 2n);
      const { size } = decodeBatch(readAccount(cluster, batch.address));
      assert.equal(size, 1);
      const rest = setupGroups(multisig, content, { isCreated: true, size });
      assert.equal(rest.length, 3);
      await landGroups(cluster, multisig, rest.slice(0, 2));
      const last = setupGroups(multisig, content, { isCreated: true, size: 3 });
      assert.deepEqual(
        last.map(({ instructions }) => instructions),
        [[proposalActivate(batch)]],
      );
      await landGroups(cluster, multisig, last);
      assert.equal(decodeProposal(readAccount(cluster, batch.proposal)).status.__kind, 'Active');
    });

    it('rejects an open batch with one vote, and cancels an approved one with two', async () => {
      const open = locateBatch(multisig, 2n);
      await land(cluster, cluster.operator, [cluster.company], [proposalReject(open, cluster.company.address)]);
      const rejected = decodeProposal(readAccount(cluster, open.proposal));
      assert.deepEqual([rejected.status.__kind, rejected.rejected], ['Rejected', [cluster.company.address]]);

      const compiled = await compilePipelines(memos(1), projectOf(token, multisig));
      await setUp(cluster, multisig, 3n, compiled);
      const approved = locateBatch(multisig, 3n);
      await approve(cluster, approved);
      await land(cluster, cluster.operator, [cluster.company], [proposalCancel(approved, cluster.company.address)]);
      assert.equal(decodeProposal(readAccount(cluster, approved.proposal)).status.__kind, 'Approved');
      await land(cluster, cluster.operator, [cluster.wallet], [proposalCancel(approved, cluster.wallet.address)]);
      assert.equal(decodeProposal(readAccount(cluster, approved.proposal)).status.__kind, 'Cancelled');
    });

    it('burns an index in one transaction: create, propose, activate, reject, close', async () => {
      const batch = locateBatch(multisig, 4n);
      await land(
        cluster,
        cluster.operator,
        [cluster.company],
        [
          batchCreate(batch),
          proposalCreate(batch),
          proposalActivate(batch),
          proposalReject(batch, cluster.company.address),
          batchAccountsClose(batch),
        ],
      );
      assert.equal(decodeMultisig(readAccount(cluster, multisig.address)).transactionIndex, 4n);
    });

    it('rejects an account of another kind or program than requested', async () => {
      const account = readAccount(cluster, multisig.address);
      assert.throws(() => decodeBatch(account), /is not a Squads Batch: its \d+ bytes start with 224 116/);
      assert.throws(() => decodeMultisig(readAccount(cluster, token.mint)), /is owned by Token/);
      assert.throws(() => decodeMultisig({ ...account, data: account.data.slice(0, 60) }), /too short .*60 bytes/);
    });
  });
}

function memos(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    type: 'NOTE',
    payload: '{}',
    actions: [{ action: 'MEMO' as const, message: `memo ${index}` }],
  }));
}

function limitsOf(cluster: Cluster, multisig: Multisig): TransactionLimits {
  return {
    version: 0,
    feePayer: cluster.operator.address,
    lookupTables: [multisig.lookupTable],
    computeUnitPriceMicroLamports: 1_000n,
  };
}

async function setUp(cluster: Cluster, multisig: Multisig, batchIndex: bigint, pipelines: CompiledPipeline[]) {
  await landGroups(cluster, multisig, setupGroups(multisig, { batchIndex, pipelines }));
}

async function landGroups(cluster: Cluster, multisig: Multisig, groups: readonly InstructionGroup[]): Promise<void> {
  for (const { message } of planTransactions(groups, limitsOf(cluster, multisig))) {
    await landMessage(cluster, [cluster.operator], message);
  }
}

async function approve(cluster: Cluster, batch: LocatedBatch): Promise<void> {
  const { operator, wallet, company } = cluster;
  const votes = [wallet, company].map(({ address }) => proposalApprove(batch, address));
  await land(cluster, operator, [wallet, company], votes);
}

async function execute(
  cluster: Cluster,
  multisig: Multisig,
  batchIndex: bigint,
  pipelines: CompiledPipeline[],
): Promise<string[]> {
  const groups = pipelines.map((pipeline, position) =>
    executionGroup(multisig, { batchIndex, position }, pipeline, MAX_COMPUTE_UNIT_LIMIT),
  );
  const logs: string[] = [];
  for (const { message } of planTransactions(groups, { ...limitsOf(cluster, multisig), maxGroups: 1 })) {
    logs.push(...(await landMessage(cluster, [cluster.operator], message)).logs);
  }
  return logs;
}

function pick<T, K extends keyof T>(value: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<T, K>;
}
