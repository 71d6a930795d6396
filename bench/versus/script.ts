import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  ASSOCIATED_TOKEN_PROGRAM_ID,
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnCheckedInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import {
  Connection,
  Keypair,
  PublicKey,
  Transaction,
  TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import * as multisig from '@sqds/multisig';

/**
 * A program that a developer would write without the service: the SDK of Squads and web3.js, one instruction per
 * transaction, in sequence. It prints its vault; after a line on standard input says that the vault is funded, it runs
 * one batch and prints its cost and time.
 */
const [url = '', wsEndpoint = '', mintText = '', countText = ''] = process.argv.slice(2);
const connection = new Connection(url, { commitment: 'confirmed', wsEndpoint });
const { instructions, types } = multisig;
const mint = new PublicKey(mintText);
const count = Number(countText);
const MEMO_PROGRAM = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const DECIMALS = 6;
const TOKEN = 10n ** 6n;
/** Locked in each pipeline's account until the account is closed, which this script never does. */
const OPERATOR_SOL_PER_PIPELINE = 0.006;

const [operator, company, wallet, createKey] = [
  Keypair.generate(),
  Keypair.generate(),
  Keypair.generate(),
  Keypair.generate(),
];
const members = [operator, company, wallet];
await Promise.all(members.map(({ publicKey }) => fund(publicKey, 1 + count * OPERATOR_SOL_PER_PIPELINE)));
const [multisigPda] = multisig.getMultisigPda({ createKey: createKey.publicKey });
const [vault] = multisig.getVaultPda({ multisigPda, index: 0 });
const [programConfig] = multisig.getProgramConfigPda({});
const { treasury } = await multisig.accounts.ProgramConfig.fromAccountAddress(connection, programConfig);
const { Permission, Permissions } = types;
let sent = 0;
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
const lines = createInterface({ input: process.stdin });
process.stdout.write(`${vault.toBase58()}\n`);
await once(lines, 'line');

const pipelines = Array.from({ length: count }, (_, i) => pipelineInstructions(i));
sent = 0;
const before = await balances();
const start = performance.now();

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
const wallMs = performance.now() - start;
const netLamports = before - (await balances());
process.stdout.write(`${JSON.stringify({ setupTransactions, totalTransactions: sent, netLamports, wallMs })}\n`);
process.exit(0);

/** Builds a memo, a burn, and an airdrop to a new wallet. */
function pipelineInstructions(i: number): TransactionInstruction[] {
  const recipient = Keypair.generate().publicKey;
  const [from, to] = [vault, recipient].map((owner) => getAssociatedTokenAddressSync(mint, owner, true));
  if (!from || !to) throw new Error('Two owners have two token accounts.');
  return [
    new TransactionInstruction({
      programId: MEMO_PROGRAM,
      keys: [{ pubkey: vault, isSigner: true, isWritable: true }],
      data: Buffer.from(`flywheel:v1:WATCH_AD:${String(i).padStart(64, '0')}`),
    }),
    createBurnCheckedInstruction(from, mint, vault, TOKEN, DECIMALS),
    createAssociatedTokenAccountIdempotentInstruction(
      vault,
      to,
      recipient,
      mint,
      undefined,
      ASSOCIATED_TOKEN_PROGRAM_ID,
    ),
    createTransferCheckedInstruction(from, mint, to, vault, TOKEN, DECIMALS),
  ];
}

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

async function fund(account: PublicKey, sol: number): Promise<void> {
  const latest = await connection.getLatestBlockhash();
  const signature = await connection.requestAirdrop(account, Math.ceil(sol * 1e9));
  await connection.confirmTransaction({ signature, ...latest });
}

async function balances(): Promise<number> {
  const held = await Promise.all(members.map(({ publicKey }) => connection.getBalance(publicKey)));
  return held.reduce((sum, lamports) => sum + lamports, 0);
}
