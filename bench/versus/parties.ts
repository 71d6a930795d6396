import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnCheckedInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import { type Connection, Keypair, PublicKey, TransactionInstruction } from '@solana/web3.js';
import * as multisig from '@sqds/multisig';

export const MEMO_PROGRAM = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const DECIMALS = 6;
const TOKEN = 10n ** 6n;
/** Locked in each pipeline's account until the account is closed, which these programs never do. */
const OPERATOR_SOL_PER_PIPELINE = 0.006;

export type Parties = Awaited<ReturnType<typeof openParties>>;

/** Funds the three parties of a batch of `count` pipelines, and finds the addresses of their multisig. */
export async function openParties(connection: Connection, mintText: string, count: number) {
  const mint = new PublicKey(mintText);
  const [operator, company, wallet, createKey] = [
    Keypair.generate(),
    Keypair.generate(),
    Keypair.generate(),
    Keypair.generate(),
  ];
  const members = [operator, company, wallet];
  await Promise.all(members.map(({ publicKey }) => fund(connection, publicKey, 1 + count * OPERATOR_SOL_PER_PIPELINE)));
  const [multisigPda] = multisig.getMultisigPda({ createKey: createKey.publicKey });
  const [vault] = multisig.getVaultPda({ multisigPda, index: 0 });
  const vaultTokens = getAssociatedTokenAddressSync(mint, vault, true);
  return { connection, mint, count, operator, company, wallet, createKey, members, multisigPda, vault, vaultTokens };
}

/** Creates the multisig as the service does: the operator proposes and executes, the two others vote. */
export async function createMultisig(parties: Parties): Promise<TransactionInstruction> {
  const { connection, operator, company, wallet, createKey, multisigPda } = parties;
  const [programConfig] = multisig.getProgramConfigPda({});
  const { treasury } = await multisig.accounts.ProgramConfig.fromAccountAddress(connection, programConfig);
  const { Permission, Permissions } = multisig.types;
  const creator = operator.publicKey;
  const voters = [company, wallet].map(({ publicKey: key }) => {
    return { key, permissions: Permissions.fromPermissions([Permission.Vote]) };
  });
  return multisig.instructions.multisigCreateV2({
    treasury,
    creator,
    multisigPda,
    configAuthority: null,
    timeLock: 0,
    members: [
      { key: creator, permissions: Permissions.fromPermissions([Permission.Initiate, Permission.Execute]) },
      ...voters,
    ],
    threshold: 2,
    createKey: createKey.publicKey,
    rentCollector: creator,
  });
}

/** Builds a memo, a burn, and an airdrop to a new wallet. */
export function pipelineInstructions({ vault, vaultTokens, mint }: Parties, i: number): TransactionInstruction[] {
  const recipient = Keypair.generate().publicKey;
  const to = getAssociatedTokenAddressSync(mint, recipient, true);
  return [
    new TransactionInstruction({
      programId: MEMO_PROGRAM,
      keys: [{ pubkey: vault, isSigner: true, isWritable: true }],
      data: Buffer.from(`flywheel:v1:WATCH_AD:${String(i).padStart(64, '0')}`),
    }),
    createBurnCheckedInstruction(vaultTokens, mint, vault, TOKEN, DECIMALS),
    createAssociatedTokenAccountIdempotentInstruction(vault, to, recipient, mint),
    createTransferCheckedInstruction(vaultTokens, mint, to, vault, TOKEN, DECIMALS),
  ];
}

/** Prints the vault, waits until a line on standard input says that it is funded, runs the batch, and prints cost and time. */
export async function runOnceFunded(
  parties: Parties,
  runBatch: () => Promise<{ readonly setupTransactions: number; readonly totalTransactions: number }>,
): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  process.stdout.write(`${parties.vault.toBase58()}\n`);
  await once(lines, 'line');
  const before = await balances(parties);
  const start = performance.now();
  const transactions = await runBatch();
  const wallMs = performance.now() - start;
  const netLamports = before - (await balances(parties));
  process.stdout.write(`${JSON.stringify({ ...transactions, netLamports, wallMs })}\n`);
  process.exit(0);
}

async function fund(connection: Connection, account: PublicKey, sol: number): Promise<void> {
  const latest = await connection.getLatestBlockhash();
  const signature = await connection.requestAirdrop(account, Math.ceil(sol * 1e9));
  await connection.confirmTransaction({ signature, ...latest });
}

async function balances({ connection, members }: Parties): Promise<number> {
  const held = await Promise.all(members.map(({ publicKey }) => connection.getBalance(publicKey)));
  return held.reduce((sum, lamports) => sum + lamports, 0);
}
