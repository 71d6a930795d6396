import assert from 'node:assert/strict';
import {
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
  type TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import * as multisig from '@sqds/multisig';

/**
 * Runs the complete life of a batch with the SDK of Squads, as its users write it. A separate program, like
 * web3-client.ts.
 */
const [url = '', wsEndpoint = ''] = process.argv.slice(2);
const connection = new Connection(url, { commitment: 'confirmed', wsEndpoint });
const { instructions, types } = multisig;

const [operator, company, wallet, createKey, recipient] = [
  Keypair.generate(),
  Keypair.generate(),
  Keypair.generate(),
  Keypair.generate(),
  Keypair.generate(),
];
for (const { publicKey } of [operator, company, wallet]) await fund(publicKey, 5);
const [multisigPda] = multisig.getMultisigPda({ createKey: createKey.publicKey });
const [vault] = multisig.getVaultPda({ multisigPda, index: 0 });
const [programConfig] = multisig.getProgramConfigPda({});
const { treasury } = await multisig.accounts.ProgramConfig.fromAccountAddress(connection, programConfig);
const { Permission, Permissions } = types;
await land(
  [createKey],
  instructions.multisigCreateV2({
    treasury,
    creator: operator.publicKey,
    multisigPda,
    configAuthority: null,
    timeLock: 0,
    members: [
      { key: operator.publicKey, permissions: Permissions.fromPermissions([Permission.Initiate, Permission.Execute]) },
      { key: company.publicKey, permissions: Permissions.fromPermissions([Permission.Vote]) },
      { key: wallet.publicKey, permissions: Permissions.fromPermissions([Permission.Vote]) },
    ],
    threshold: 2,
    createKey: createKey.publicKey,
    rentCollector: operator.publicKey,
  }),
);
await fund(vault, 3);

const batchIndex = 1n;
const creator = operator.publicKey;
const of = { multisigPda, batchIndex };
await land([], instructions.batchCreate({ ...of, creator, rentPayer: creator, vaultIndex: 0 }));
await land([], instructions.proposalCreate({ multisigPda, creator, transactionIndex: batchIndex, isDraft: true }));
for (const transactionIndex of [1, 2]) {
  const transfer = SystemProgram.transfer({
    fromPubkey: vault,
    toPubkey: recipient.publicKey,
    lamports: LAMPORTS_PER_SOL,
  });
  const { blockhash: recentBlockhash } = await connection.getLatestBlockhash();
  const transactionMessage = new TransactionMessage({ payerKey: vault, recentBlockhash, instructions: [transfer] });
  await land(
    [],
    instructions.batchAddTransaction({
      ...of,
      member: creator,
      rentPayer: creator,
      vaultIndex: 0,
      transactionIndex,
      ephemeralSigners: 0,
      transactionMessage,
      addressLookupTableAccounts: [],
    }),
  );
}
await land([], instructions.proposalActivate({ multisigPda, transactionIndex: batchIndex, member: creator }));
for (const voter of [company, wallet]) {
  const vote = { multisigPda, transactionIndex: batchIndex, member: voter.publicKey };
  await land([voter], instructions.proposalApprove(vote));
}
for (const transactionIndex of [1, 2]) {
  const execute = { connection, ...of, member: creator, transactionIndex };
  await land([], (await instructions.batchExecuteTransaction(execute)).instruction);
}
const [proposalPda] = multisig.getProposalPda({ multisigPda, transactionIndex: batchIndex });
const { status } = await multisig.accounts.Proposal.fromAccountAddress(connection, proposalPda);
assert.equal(status.__kind, 'Executed');
assert.equal(await connection.getBalance(recipient.publicKey), 2 * LAMPORTS_PER_SOL);
process.exit(0);

async function fund(account: Keypair['publicKey'], sol: number): Promise<void> {
  const latest = await connection.getLatestBlockhash();
  const signature = await connection.requestAirdrop(account, sol * LAMPORTS_PER_SOL);
  await connection.confirmTransaction({ signature, ...latest });
}

async function land(signers: readonly Keypair[], instruction: TransactionInstruction): Promise<void> {
  await sendAndConfirmTransaction(connection, new Transaction().add(instruction), [operator, ...signers]);
}
