import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defaultCacheDirectory,
  findSquadsProgram,
  type GenesisAccount,
  genesisAccounts,
  localnetBank,
} from '@flywheel/localnet';
import { TRANSACTION_V1_FEATURE } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { createSolanaRpc } from '@solana/kit';

/**
 * The release of Agave that the tests know. Its `solana-test-validator` is a whole Solana cluster in one process, which this
 * project did not write. It is the newest stable release whose dependencies are all published as crates: 4.3.0 to 4.4.0 use
 * functions of a RocksDB binding that is not published.
 */
export const AGAVE_VERSION = '4.2.2';
const BINARY = 'solana-test-validator';

/** A running validator. */
export interface Agave {
  /** JSON-RPC. Subscriptions are at the port above it. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface AgaveOptions {
  /** Path of `solana-test-validator`. */
  readonly binary: string;
  /** Path of the deployed Squads program; the one in the user's cache by default. */
  readonly squadsProgram?: string | undefined;
  /** Directory of the ledger; one that exists is continued, and then most of the other options have no effect. */
  readonly ledger: string;
  /** Port of the JSON-RPC; the two above it are for subscriptions and the faucet. */
  readonly port: number;
  /** false: transactions of version 1 are refused. */
  readonly v1?: boolean;
  /** Milliseconds of a slot, a multiple of 6.25; 400, as on mainnet, by default. */
  readonly slotMs?: number;
  /** Slot to which the ledger jumps at the start. */
  readonly warpSlot?: bigint;
}

/** Finds the validator of the pinned release: FLYWHEEL_AGAVE, then the cache, then PATH. Null if there is none. */
export function findAgave(): string | null {
  const { FLYWHEEL_AGAVE, PATH = '' } = process.env;
  const directories = [join(agaveDirectory(), 'bin'), ...PATH.split(delimiter)];
  const places = [FLYWHEEL_AGAVE ?? '', ...directories.map((directory) => join(directory, BINARY))];
  return places.find((path) => existsSync(path) && versionOf(path) === AGAVE_VERSION) ?? null;
}

/** Returns true if the deployed Squads program is there; a validator cannot run the emulation. */
export function hasSquadsProgram(path: string | undefined): boolean {
  return findSquadsProgram(path).program === 'squads-v4';
}

/** Finds a port with free ones above it, of those that the system gives to no client by itself. */
export async function findFreePorts(): Promise<number> {
  for (let attempt = 0; attempt < MAX_PORT_ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + PORTS * randomInt(PORT_RANGES);
    const servers = Array.from({ length: PORTS }, () => createServer());
    const opened = await Promise.allSettled(
      servers.map((server, index) => once(server.listen(port + index, '127.0.0.1'), 'listening')),
    );
    await Promise.all(servers.filter(({ listening }) => listening).map((server) => once(server.close(), 'close')));
    if (opened.every(({ status }) => status === 'fulfilled')) return port;
  }
  throw new Error(`No ${PORTS} ports in a row are free.`);
}

const FIRST_PORT = 12_000;
/** Those of a validator: JSON-RPC, subscriptions, faucet, gossip, and its dynamic range. */
const PORTS = 41;
const PORT_RANGES = 400;
const MAX_PORT_ATTEMPTS = 20;

/** The directory in the user's cache into which `npm run agave -- --install` builds the validator. */
export function agaveDirectory(): string {
  return join(defaultCacheDirectory(), `agave-${AGAVE_VERSION}`);
}

/** The version that a validator states: `solana-test-validator 4.2.2 (src:…)`; null if it does not run. */
function versionOf(binary: string): string | null {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  return /^solana-test-validator (\S+)/.exec(stdout ?? '')?.[1] ?? null;
}

/** The start of a validator takes five seconds on idle cores. */
const START_MS = 120_000;
const POLL_MS = 200;
/** Time of a tick, 64 of which are a slot on mainnet. */
const TICK_MS = 6.25;
const STOP_MS = 20_000;
/** What the ledger keeps, some 12 GB. A slot takes 64, so the validator's own 10,000 are 8 s of slots of 50 ms. */
const LEDGER_SHREDS = 10_000_000;

/**
 * Starts a validator with the real Squads program, and waits until it makes blocks. The bank of the local cluster owns the
 * supply, so that funding works as it does there.
 * @throws Error with the end of the validator's output if it ends, or makes no block within two minutes.
 */
export async function startAgave({
  binary,
  squadsProgram,
  ledger,
  port,
  v1 = true,
  slotMs = 400,
  warpSlot,
}: AgaveOptions): Promise<Agave> {
  const genesis = `${ledger}-genesis`;
  const squadsFile = await writeGenesis(genesis, squadsProgram);
  const { address: mint } = await localnetBank();
  const child = spawn(
    binary,
    [
      ...['--ledger', ledger, '--quiet', '--bind-address', '127.0.0.1', '--mint', mint],
      ...['--rpc-port', `${port}`, '--faucet-port', `${port + 2}`],
      ...['--gossip-port', `${port + 3}`, '--dynamic-port-range', `${port + 4}-${port + PORTS - 1}`],
      ...['--bpf-program', SQUADS_PROGRAM_ADDRESS, squadsFile, '--account-dir', join(genesis, 'accounts')],
      ...['--ticks-per-slot', `${slotMs / TICK_MS}`, '--limit-ledger-size', `${LEDGER_SHREDS}`],
      ...(v1
        ? []
        : // A test validator starts with all features on.
          ['--deactivate-feature', TRANSACTION_V1_FEATURE]),
      ...(warpSlot === undefined ? [] : ['--warp-slot', `${warpSlot}`]),
    ],
    // Its log of a minute is otherwise five megabytes.
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, RUST_LOG: 'error' } },
  );
  const output = keepOutput(child);
  const url = `http://127.0.0.1:${port}`;
  await awaitBlocks(url, child, output);
  return {
    url,
    stop: async () => {
      const ended = once(child, 'exit');
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Writes the program and the accounts of Squads, and the accounts of the block engine. Returns the program's path. */
async function writeGenesis(directory: string, squadsProgram: string | undefined): Promise<string> {
  const squads = findSquadsProgram(squadsProgram);
  if (squads.program === 'emulation') {
    throw new Error(`A validator needs the real Squads program: flywheel localnet fetch-programs. ${squads.note}`);
  }
  const accounts = join(directory, 'accounts');
  await mkdir(accounts, { recursive: true });
  for (const account of genesisAccounts()) await writeFile(join(accounts, `${account.address}.json`), toFile(account));
  const path = join(directory, 'squads_v4.so');
  await writeFile(path, squads.bytes);
  return path;
}

/** Writes an account as `solana account --output json` does. */
function toFile({ address, lamports, owner, data }: GenesisAccount): string {
  const account = {
    lamports: Number(lamports),
    data: [Buffer.from(data).toString('base64'), 'base64'],
    owner,
    executable: false,
    rentEpoch: 0,
    space: data.length,
  };
  return JSON.stringify({ pubkey: address, account });
}

const KEPT_CHARACTERS = 4_000;

function keepOutput({ stdout, stderr }: ChildProcess): () => string {
  let kept = '';
  for (const stream of [stdout, stderr]) {
    stream?.on('data', (chunk) => {
      kept = (kept + String(chunk)).slice(-KEPT_CHARACTERS);
    });
  }
  return () => kept.trim();
}

async function awaitBlocks(url: string, child: ChildProcess, output: () => string): Promise<void> {
  const rpc = createSolanaRpc(url);
  const deadline = Date.now() + START_MS;
  let first: bigint | null = null;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    const slot: bigint | null = await rpc
      .getSlot({ commitment: 'confirmed' })
      .send()
      // The port opens before the node answers, and nothing listens before.
      .catch(() => null);
    first ??= slot;
    if (slot !== null && first !== null && slot > first) return;
    await sleep(POLL_MS);
  }
  child.kill('SIGKILL');
  throw new Error(`${BINARY} made no block within ${START_MS / 1_000} s. The end of its output:\n${output()}`);
}
