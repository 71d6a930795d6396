import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  appendTransactionMessageInstruction,
  type Blockhash,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { type Localnet, startLocalnet } from '../localnet/src/index.ts';
import { type Figures, ms, percent, timeMs } from './figures.ts';

const SENDERS = 16;
/** Signed at a time, so that what is measured is not the making of keys and signatures. */
const BLOCK = 2_000;
const WARM_UP = 500;
const DEFAULT_TRANSACTIONS = 100_000;
const SOL = 1_000_000_000n;

/** Transfers through JSON-RPC with sixteen senders, and the same ones on LiteSVM alone with its signature check. */
export async function benchLocalnet(transactions = DEFAULT_TRANSACTIONS): Promise<Figures> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-bench-'));
  try {
    const first = await startLocalnet({ stateDirectory: directory, squadsProgram: 'emulation' });
    const figures = await measure(first, transactions);
    await first.stop();
    const database = await directoryBytes(directory);
    let again: Localnet | null = null;
    const startMs = await timeMs(async () => {
      again = await startLocalnet({ stateDirectory: directory, squadsProgram: 'emulation' });
    });
    await (again as Localnet | null)?.stop(); // assigned in the closure above
    return {
      title: 'Local cluster',
      rows: [...figures, [`ledger on disk after ${transactions}`, megabytes(database)], ['start from it', ms(startMs)]],
      note: 'The ledger is the snapshot: every commit is in it. It keeps the last 50,000 transactions and all accounts.',
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(localnet: Localnet, transactions: number): Promise<[string, string][]> {
  const emptyStartMs = await timeMs(async () => {
    const empty = await startLocalnet({ squadsProgram: 'emulation' });
    await empty.stop();
  });
  const payer = await generateKeyPairSigner();
  await localnet.bank.airdrop(payer.address, 100_000n * SOL);
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  const funded = { address: payer.address, lamports: lamports(100_000n * SOL), programAddress: SYSTEM_PROGRAM_ADDRESS };
  svm.setAccount({ ...funded, data: new Uint8Array(), executable: false, space: 0n });
  const rpc = createSolanaRpc(localnet.url);
  const before = process.memoryUsage().rss;
  let [httpMs, rawMs, measured] = [0, 0, 0];
  let amount = 0n;
  for (let done = 0; done < transactions; done += BLOCK) {
    const { value } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
    const count = Math.min(BLOCK, transactions - done);
    const signed = [];
    for (let index = 0; index < count; index++) {
      amount += 1n;
      signed.push(await signTransfer(payer, amount, value));
    }
    const bodies = signed.map((transaction) => sendBody(getBase64EncodedWireTransaction(transaction)));
    const spentMs = await timeMs(() => sendAll(localnet.url, bodies));
    const alone = done < 5 * BLOCK ? signed : [];
    const aloneMs = await timeMs(async () => {
      for (const transaction of alone) {
        if (svm.sendTransaction(transaction) instanceof FailedTransactionMetadata)
          throw new Error('A transfer failed.');
      }
    });
    if (done === 0 && transactions > WARM_UP) continue;
    httpMs += spentMs;
    measured += count;
    rawMs += alone.length === 0 ? 0 : aloneMs;
  }
  const rawCount = Math.min(measured, 4 * BLOCK);
  const httpRate = (1_000 * measured) / httpMs;
  const rawRate = (1_000 * rawCount) / rawMs;
  return [
    ['start, nothing stored', ms(emptyStartMs)],
    [`transfers through JSON-RPC, ${SENDERS} senders`, `${httpRate.toFixed(0)}/s`],
    ['transfers on LiteSVM alone', `${rawRate.toFixed(0)}/s`],
    ['share of the raw rate', percent(httpRate, rawRate)],
    [`memory gained over ${transactions} transactions`, megabytes(process.memoryUsage().rss - before)],
  ];
}

function signTransfer(
  payer: KeyPairSigner,
  amount: bigint,
  lifetime: { readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint },
) {
  return signTransactionMessageWithSigners(
    pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (timed) =>
        appendTransactionMessageInstruction(
          getTransferSolInstruction({ source: payer, destination: payer.address, amount }),
          timed,
        ),
    ),
  );
}

function sendBody(wire: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'sendTransaction',
    params: [wire, { encoding: 'base64', skipPreflight: true }],
  });
}

async function sendAll(url: string, bodies: readonly string[]): Promise<void> {
  let next = 0;
  const sender = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const response = await fetch(url, { method: 'POST', body });
      const answer = await response.text();
      if (!answer.includes('"result"')) throw new Error(`A transfer was refused: ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
}

async function directoryBytes(directory: string): Promise<number> {
  const files = await readdir(directory);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
