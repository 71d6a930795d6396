import { setTimeout as sleep } from 'node:timers/promises';
import { getBase58Decoder } from '@solana/kit';
import {
  type AddressLookupTableAccount,
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  Connection,
  type Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import * as multisig from '@sqds/multisig';
import { createMultisig, MEMO_PROGRAM, openParties, pipelineInstructions, runOnceFunded } from './parties.ts';

/**
 * A program that somebody who knows Solana and Squads well would write for one batch: transactions of version 0 with a lookup
 * table, as many instructions in each as fit, bundles of five through the block engine if there is one, and the next one as
 * soon as the one before is processed. It remembers nothing, so that a failure or a crash is left to a person. Like
 * `script.ts` it prints its vault, waits for a line, and prints its cost and time.
 */
const [url = '', wsEndpoint = '', mintText = '', countText = '', engineUrl = ''] = process.argv.slice(2);
const connection = new Connection(url, { commitment: 'confirmed', wsEndpoint });
/** Shows what was sent last, which is processed and not always confirmed. */
const newest = new Connection(url, { commitment: 'processed', wsEndpoint });
const { instructions } = multisig;
const count = Number(countText);
const MAX_BYTES = 1_232;
const BUNDLE_TRANSACTIONS = 5;
const TIP_LAMPORTS = 1_000;
const POLL_MS = 25;
const LANDING_MS = 20_000;
const RESEND_MS = 2_000;
/** An execution of one of these pipelines calls nine instructions; a transaction may call 64 (MaxInstructionTraceLength). */
const EXECUTIONS_PER_TRANSACTION = 6;

const parties = await openParties(connection, mintText, count);
const { operator, company, wallet, createKey, members, multisigPda, vault, vaultTokens, mint } = parties;
const creator = operator.publicKey;
const tables: AddressLookupTableAccount[] = [];
let sent = 0;
let lastSignature = '';
let lastBundle = 'it was sent over RPC.';
const [tipAccount] = engineUrl === '' ? [] : await callEngine('getTipAccounts', []);
await sendAll([sign(await blockhash(), [await createMultisig(parties)], [operator, createKey])]);
const batchIndex = 1n;
const [batchPda] = multisig.getTransactionPda({ multisigPda, index: batchIndex });
const [proposalPda] = multisig.getProposalPda({ multisigPda, transactionIndex: batchIndex });
tables.push(await createTable());
const anyBlockhash = PublicKey.default.toBase58();
const pipelines = Array.from({ length: count }, (_, i) => pipelineInstructions(parties, i));

await runOnceFunded(parties, async () => {
  sent = 0;
  const of = { multisigPda, batchIndex };
  await sendPacked([
    instructions.batchCreate({ ...of, creator, rentPayer: creator, vaultIndex: 0 }),
    instructions.proposalCreate({ multisigPda, creator, transactionIndex: batchIndex, isDraft: true }),
    ...pipelines.map((pipeline, i) =>
      instructions.batchAddTransaction({
        ...of,
        member: creator,
        rentPayer: creator,
        vaultIndex: 0,
        transactionIndex: i + 1,
        ephemeralSigners: 0,
        transactionMessage: new TransactionMessage({
          payerKey: vault,
          recentBlockhash: anyBlockhash,
          instructions: pipeline,
        }),
        addressLookupTableAccounts: tables,
      }),
    ),
    instructions.proposalActivate({ multisigPda, transactionIndex: batchIndex, member: creator }),
  ]);
  const setupTransactions = sent;
  const votes = [company, wallet].map(({ publicKey }) =>
    instructions.proposalApprove({ multisigPda, transactionIndex: batchIndex, member: publicKey }),
  );
  await sendAll([sign(await blockhash(), votes, members)]);
  const executions = await Promise.all(
    pipelines.map(async (_, i) => {
      const execute = { connection: newest, ...of, member: creator, transactionIndex: i + 1 };
      return (await instructions.batchExecuteTransaction(execute)).instruction;
    }),
  );
  await sendPacked(executions, EXECUTIONS_PER_TRANSACTION);
  await until('confirmed');
  return { setupTransactions, totalTransactions: sent };
});

/** Puts every account that all transactions name into a lookup table, and waits until every leader can use it. */
async function createTable(): Promise<AddressLookupTableAccount> {
  const recentSlot = await connection.getSlot('finalized');
  const [create, key] = AddressLookupTableProgram.createLookupTable({ authority: creator, payer: creator, recentSlot });
  const [probe] = pipelineInstructions(parties, 0).slice(2);
  const shared = [...(probe?.keys ?? []), { pubkey: probe?.programId ?? vault }].map(({ pubkey }) => pubkey);
  const addresses = [multisigPda, vault, batchPda, proposalPda, vaultTokens, mint, MEMO_PROGRAM, ...shared];
  addresses.push(multisig.PROGRAM_ID, SystemProgram.programId);
  const extend = AddressLookupTableProgram.extendLookupTable({
    ...{ payer: creator, authority: creator, lookupTable: key },
    addresses: [...new Map(addresses.map((address) => [address.toBase58(), address])).values()],
  });
  await sendAll([sign(await blockhash(), [create, extend])]);
  // Agave's leader reads lookup tables as of its last finalized slot, and drops transactions that use newer ones.
  for (const slot = await connection.getSlot('processed'); (await connection.getSlot('finalized')) <= slot; )
    await sleep(POLL_MS);
  const { value } = await connection.getAddressLookupTable(key);
  if (value === null) throw new Error('The lookup table is not there.');
  return value;
}

/** Packs instructions in their order into as few transactions as possible, and sends these. */
async function sendPacked(all: readonly TransactionInstruction[], most = Number.POSITIVE_INFINITY): Promise<void> {
  const groups: TransactionInstruction[][] = [];
  for (const instruction of all) {
    const grown = [...(groups.at(-1) ?? []), instruction];
    if (groups.length > 0 && grown.length <= most && fits(grown)) groups.splice(-1, 1, grown);
    else groups.push([instruction]);
  }
  for (let i = 0; i < groups.length; i += BUNDLE_TRANSACTIONS) {
    const bundle = groups.slice(i, i + BUNDLE_TRANSACTIONS);
    const recent = await blockhash();
    const transactions = bundle.map((group, position) => sign(recent, withTip(group, position === bundle.length - 1)));
    await sendAll(transactions, tipAccount !== undefined);
  }
}

/** Leaves room for the tip in every transaction. */
function fits(group: readonly TransactionInstruction[]): boolean {
  try {
    return sign(anyBlockhash, withTip(group, true)).serialize().length <= MAX_BYTES;
  } catch {
    // The library throws when its buffer is too small.
    return false;
  }
}

function withTip(group: readonly TransactionInstruction[], isLast: boolean): TransactionInstruction[] {
  const budget = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: 1_400_000 }),
    ComputeBudgetProgram.requestHeapFrame({ bytes: 262_144 }),
  ];
  if (!isLast || !tipAccount) return [...budget, ...group];
  const toPubkey = new PublicKey(tipAccount);
  return [...budget, ...group, SystemProgram.transfer({ fromPubkey: creator, toPubkey, lamports: TIP_LAMPORTS })];
}

function sign(
  recentBlockhash: string,
  group: TransactionInstruction[],
  signers: readonly Keypair[] = [operator],
): VersionedTransaction {
  const message = new TransactionMessage({ payerKey: creator, recentBlockhash, instructions: group });
  const transaction = new VersionedTransaction(message.compileToV0Message(tables));
  transaction.sign([...signers]);
  return transaction;
}

/** Sends transactions as a bundle, or one after the other, and waits until they are processed. */
async function sendAll(transactions: readonly VersionedTransaction[], asBundle = false): Promise<void> {
  if (asBundle) {
    const wires = transactions.map((transaction) => Buffer.from(transaction.serialize()).toString('base64'));
    const bundleId = await callEngine('sendBundle', [wires, { encoding: 'base64' }]);
    lastBundle = `its bundle is ${bundleId}.`;
  }
  for (const transaction of transactions) {
    const send = () => connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true });
    if (!asBundle) await send();
    lastSignature = bs58(transaction.signatures[0]);
    await until('processed', asBundle ? undefined : send);
  }
  sent += transactions.length;
}

/** Waits until the last transaction is processed or confirmed, and sends it again now and then: a busy node drops some. */
async function until(commitment: 'processed' | 'confirmed', resend?: () => Promise<string>): Promise<void> {
  let resendAt = Date.now() + RESEND_MS;
  for (const deadline = Date.now() + LANDING_MS; ; ) {
    const { value } = await connection.getSignatureStatus(lastSignature);
    if (value?.err) throw new Error(`${lastSignature} failed: ${JSON.stringify(value.err)}`);
    if (value && (commitment === 'processed' || value.confirmationStatus !== 'processed')) return;
    if (Date.now() > deadline) throw new Error(`${lastSignature} has not landed; ${lastBundle}`);
    if (resend && Date.now() > resendAt) {
      await resend();
      resendAt = Date.now() + RESEND_MS;
    }
    await sleep(POLL_MS);
  }
}

function bs58(signature: Uint8Array | undefined): string {
  if (!signature) throw new Error('A signed transaction has a signature.');
  return getBase58Decoder().decode(signature);
}

async function callEngine(method: string, params: readonly unknown[]): Promise<string[]> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(engineUrl, { method: 'POST', headers, body });
  const answer: { readonly result: string[]; readonly error?: object } = JSON.parse(await response.text());
  if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
  return answer.result;
}

async function blockhash(): Promise<string> {
  return (await connection.getLatestBlockhash()).blockhash;
}
