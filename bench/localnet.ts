import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxRentLamports } from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstruction,
  type Blockhash,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressDecoder,
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
import { z } from 'zod';
import { type Figures, ms, percent, timeMs } from './figures.ts';
import { sendLoad } from './http-load.ts';

const SENDERS = 16;
/** Calls in one JSON-RPC array. */
const CALLS = 32;
/** Transactions signed at a time, so that the creation of keys and signatures is not measured. */
const BLOCK = 4_000;
const DEFAULT_TRANSACTIONS = 100_000;
const FUNDS_LAMPORTS = 1_000_000_000_000_000n;
const TRANSFER_LAMPORTS = maxRentLamports(0);

/**
 * Measures transfers, each to a new account, through JSON-RPC into a cluster in a process of its own: one call per
 * request, then arrays of calls; and the same transfers on LiteSVM alone, with its signature check.
 */
export async function benchLocalnet(transactions = DEFAULT_TRANSACTIONS): Promise<Figures> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-bench-'));
  try {
    const first = await startCluster(directory);
    const rows = await measure(first, transactions);
    const stopMs = await first.stop();
    const bytes = await directoryBytes(directory);
    const again = await startCluster(directory);
    await again.stop();
    return {
      title: 'Local cluster',
      rows: [
        ['start, nothing stored', ms(first.startMs)],
        ...rows,
        [`ledger on disk after ${transactions}`, megabytes(bytes)],
        ['stop, and fold the last commits into it', ms(stopMs)],
        ['start from it', ms(again.startMs)],
      ],
      note: 'The ledger is the snapshot: every commit is in it. It keeps the last 50,000 transactions and all accounts.',
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

type Mode = 'single' | 'array' | 'raw';

async function measure(cluster: Cluster, transactions: number): Promise<[string, string][]> {
  const rpc = createSolanaRpc(`http://127.0.0.1:${cluster.port}`);
  const payers = await Promise.all(Array.from({ length: SENDERS }, generateKeyPairSigner));
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  for (const { address } of payers) {
    await rpc.requestAirdrop(address, lamports(FUNDS_LAMPORTS)).send();
    svm.setAccount(wallet(address));
  }
  const spent: Record<Mode, { count: number; ms: number }> = {
    single: { count: 0, ms: 0 },
    array: { count: 0, ms: 0 },
    raw: { count: 0, ms: 0 },
  };
  const memory = [await cluster.measure()];
  for (let done = 0; done < transactions; done += BLOCK) {
    const { value } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
    const count = Math.min(BLOCK, transactions - done);
    const signed = await signTransfers(payers, count, value);
    const calls = signed.map((transaction) => sendCall(getBase64EncodedWireTransaction(transaction)));
    const mode = (done / BLOCK) % 2 === 0 ? 'single' : 'array';
    const before = await transactionCount(rpc);
    const spentMs = await timeMs(async () => {
      await sendCalls(cluster.port, mode === 'single' ? calls : inArrays(calls));
      // The answers come before the executions.
      while ((await transactionCount(rpc)) < before + BigInt(count)) await sleep(1);
    });
    const aloneMs = await timeMs(async () => {
      for (const transaction of signed) {
        if (svm.sendTransaction(transaction) instanceof FailedTransactionMetadata)
          throw new Error('A transfer failed.');
      }
    });
    // The first blocks are a warm-up.
    for (const [kind, tookMs] of done < 2 * BLOCK
      ? []
      : ([
          [mode, spentMs],
          ['raw', aloneMs],
        ] as const)) {
      spent[kind].count += count;
      spent[kind].ms += tookMs;
    }
    process.stderr.write(`${done + count} of ${transactions} transfers: the last ${count} in ${ms(spentMs)}\n`);
    if (done + BLOCK === transactions / 2) memory.push(await cluster.measure());
  }
  memory.push(await cluster.measure());
  const rate = (mode: Mode) => (1_000 * spent[mode].count) / spent[mode].ms;
  return [
    ['transfers on LiteSVM alone', `${rate('raw').toFixed(0)}/s`],
    [`through JSON-RPC, ${SENDERS} senders`, `${rate('single').toFixed(0)}/s`],
    ['share of the raw rate', percent(rate('single'), rate('raw'))],
    [`through JSON-RPC, ${SENDERS} senders, arrays of ${CALLS} calls`, `${rate('array').toFixed(0)}/s`],
    ['share of the raw rate, in arrays', percent(rate('array'), rate('raw'))],
    [
      `memory at 0, ${transactions / 2} and ${transactions} transactions`,
      memory.map(({ rssBytes }) => megabytes(rssBytes)).join(', '),
    ],
    ['of which heap after a collection', memory.map(({ heapBytes }) => megabytes(heapBytes)).join(', ')],
  ];
}

function transactionCount(rpc: ReturnType<typeof createSolanaRpc>): Promise<bigint> {
  return rpc.getTransactionCount({ commitment: 'processed' }).send();
}

interface Cluster {
  readonly port: number;
  readonly startMs: number;
  measure(): Promise<z.output<typeof measured>>;
  /** Ends the process. @returns how long stopping took. */
  stop(): Promise<number>;
}

const started = z.object({ port: z.number(), startMs: z.number() });
const measured = z.object({ rssBytes: z.number(), heapBytes: z.number(), cpuMs: z.number() });
const stopped = z.object({ stopMs: z.number() });

async function startCluster(directory: string): Promise<Cluster> {
  const child = fork(join(import.meta.dirname, 'localnet-process.ts'), [directory]);
  const answer = async () => (await once(child, 'message'))[0];
  const { port, startMs } = started.parse(await answer());
  const ask = (wish: 'measure' | 'stop') => {
    child.send(wish);
    return answer();
  };
  return {
    port,
    startMs,
    measure: async () => measured.parse(await ask('measure')),
    stop: async () => {
      const exited = once(child, 'exit');
      const { stopMs } = stopped.parse(await ask('stop'));
      await exited;
      return stopMs;
    },
  };
}

function wallet(address: Address) {
  return {
    address,
    lamports: lamports(FUNDS_LAMPORTS),
    programAddress: SYSTEM_PROGRAM_ADDRESS,
    data: new Uint8Array(),
    executable: false,
    space: 0n,
  };
}

type Lifetime = { readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint };

function signTransfers(payers: readonly KeyPairSigner[], count: number, lifetime: Lifetime) {
  const transfers = Array.from({ length: count }, (_, index) => {
    const payer = payers[index % payers.length];
    if (!payer) throw new Error('There is no payer.');
    const destination = getAddressDecoder().decode(randomBytes(32));
    return signTransactionMessageWithSigners(
      pipe(
        createTransactionMessage({ version: 0 }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) =>
          appendTransactionMessageInstruction(
            getTransferSolInstruction({ source: payer, destination, amount: TRANSFER_LAMPORTS }),
            timed,
          ),
      ),
    );
  });
  return Promise.all(transfers);
}

function sendCall(wire: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'sendTransaction',
    params: [wire, { encoding: 'base64', skipPreflight: true }],
  });
}

function inArrays(calls: readonly string[]): string[] {
  return Array.from(
    { length: Math.ceil(calls.length / CALLS) },
    (_, index) => `[${calls.slice(index * CALLS, (index + 1) * CALLS).join(',')}]`,
  );
}

async function sendCalls(port: number, bodies: readonly string[]): Promise<void> {
  await sendLoad({
    port,
    senders: SENDERS,
    requests: bodies.map((body) => ({ method: 'POST', path: '/', body })),
    check: (body) => {
      if (body.includes('"error"')) throw new Error(`A transfer was refused: ${body}`);
    },
  });
}

async function directoryBytes(directory: string): Promise<number> {
  const files = await readdir(directory);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
