import {
  Connection,
  type Keypair,
  Transaction,
  type TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import * as multisig from '@sqds/multisig';
import { createMultisig, openParties, pipelineInstructions, runOnceFunded } from './parties.ts';

/**
 * A program that a developer would write without the service: the SDK of Squads and web3.js, one instruction per
 * transaction, in sequence. It prints its vault; after a line on standard input says that the vault is funded, it runs
 * one batch and prints its cost and time.
 */
const [url = '', wsEndpoint = '', mint = '', countText = ''] = process.argv.slice(2);
const connection = new Connection(url, { commitment: 'confirmed', wsEndpoint });
const { instructions } = multisig;
const count = Number(countText);
const parties = await openParties(connection, mint, count);
const { operator, company, wallet, createKey, multisigPda, vault } = parties;
let sent = 0;
await land([createKey], await createMultisig(parties));
const pipelines = Array.from({ length: count }, (_, i) => pipelineInstructions(parties, i));

await runOnceFunded(parties, async () => {
  sent = 0;
  const batchIndex = 1n;
  const creator = operator.publicKey;
  const of = { multisigPda, batchIndex };
  await land([], instructions.batchCreate({ ...of, creator, rentPayer: creator, vaultIndex: 0 }));
  await land([], instructions.proposalCreate({ multisigPda, creator, transactionIndex: batchIndex, isDraft: true }));
  for (const [i, pipeline] of pipelines.entries()) {
    const { blockhash: recentBlockhash } = await connection.getLatestBlockhash();
    await land(
      [],
      instructions.batchAddTransaction({
        ...of,
        member: creator,
        rentPayer: creator,
        vaultIndex: 0,
        transactionIndex: i + 1,
        ephemeralSigners: 0,
        transactionMessage: new TransactionMessage({ payerKey: vault, recentBlockhash, instructions: pipeline }),
        addressLookupTableAccounts: [],
      }),
    );
  }
  await land([], instructions.proposalActivate({ multisigPda, transactionIndex: batchIndex, member: creator }));
  const setupTransactions = sent;
  for (const voter of [company, wallet]) {
    const vote = { multisigPda, transactionIndex: batchIndex, member: voter.publicKey };
    await land([voter], instructions.proposalApprove(vote));
  }
  for (let transactionIndex = 1; transactionIndex <= count; transactionIndex += 1) {
    const execute = { connection, ...of, member: creator, transactionIndex };
    await land([], (await instructions.batchExecuteTransaction(execute)).instruction);
  }
  return { setupTransactions, totalTransactions: sent };
});

/** Uses a fresh blockhash: the one that a Connection caches for half a minute is too old when slots are short. */
async function land(signers: Keypair[], instruction: TransactionInstruction): Promise<void> {
  const latest = await connection.getLatestBlockhash();
  const transaction = new Transaction({ ...latest, feePayer: operator.publicKey }).add(instruction);
  transaction.sign(operator, ...signers);
  const signature = await connection.sendRawTransaction(transaction.serialize());
  const { value } = await connection.confirmTransaction({ signature, ...latest });
  if (value.err !== null) throw new Error(`${signature} failed: ${JSON.stringify(value.err)}`);
  sent += 1;
}
