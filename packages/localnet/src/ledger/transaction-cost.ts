import { ADDRESS_BYTES, encodeBase58 } from '@flywheel/protocol';
import { decodeProgramAccount, UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSVAR_INSTRUCTIONS_ADDRESS } from '@solana/sysvars';
import type { LiteSVM } from 'litesvm';
import { ED25519_PROGRAM, SECP256K1_PROGRAM, SECP256R1_PROGRAM } from '../wire/programs.ts';
import type { WireTransaction } from '../wire/wire-transaction.ts';
import type { ListedAccount } from './account-list.ts';
import { type HeldAccount, holdAccount } from './svm-accounts.ts';

/** Bytes that each loaded account and each lookup table count in addition to their data (solana-svm, account_loader.rs). */
const ACCOUNT_BASE_BYTES = 64;
const LOOKUP_TABLE_BYTES = 8_248;

/** Costs in compute units (solana-cost-model, block_cost_limits.rs). */
const SIGNATURE_COST = 720;
const WRITE_LOCK_COST = 300;
const DATA_BYTES_PER_UNIT = 4;
const PAGE_BYTES = 32 * 1024;
const PAGE_COST = 8;
/** Costs of one signature that a precompile checks, by program. */
const PRECOMPILE_COSTS: Readonly<Record<string, number>> = {
  [SECP256K1_PROGRAM]: 6_690,
  [ED25519_PROGRAM]: 2_400,
  [SECP256R1_PROGRAM]: 4_800,
};

/**
 * Computes the bytes that a transaction loads: its accounts, the code of its upgradeable programs once, and a fixed
 * number for each lookup table. `states` has one state for each of `accounts`.
 */
export function loadedBytes(
  svm: LiteSVM,
  { lookups }: WireTransaction,
  accounts: readonly ListedAccount[],
  states: readonly HeldAccount[],
): number {
  const counted = new Set(accounts.map(({ address }) => address));
  let bytes = lookups.length * LOOKUP_TABLE_BYTES;
  for (const [index, { account }] of states.entries()) {
    if (account === null || accounts[index]?.address === SYSVAR_INSTRUCTIONS_ADDRESS) continue;
    const data = account.data();
    bytes += ACCOUNT_BASE_BYTES + data.length;
    const code = decodeProgramAccount(data);
    if (code === null || encodeBase58(account.owner()) !== UPGRADEABLE_LOADER_ADDRESS || counted.has(code)) continue;
    counted.add(code);
    // The account ends with the address of its code.
    bytes += codeBytes(svm, code, data.subarray(-ADDRESS_BYTES));
  }
  return bytes;
}

/** Computes the cost of a transaction in a block: signatures, write locks, instruction data, execution, loaded pages. */
export function costUnits(
  { header, staticAddresses, instructions }: WireTransaction,
  accounts: readonly ListedAccount[],
  executed: { readonly unitsConsumed: bigint; readonly loadedBytes: number },
): bigint {
  const precompiles = instructions.reduce((sum, { programAddressIndex, data }) => {
    const cost = PRECOMPILE_COSTS[staticAddresses[programAddressIndex] ?? ''] ?? 0;
    return sum + cost * (data[0] ?? 0);
  }, 0);
  const writeLocks = accounts.filter(({ writable }) => writable).length;
  const dataBytes = instructions.reduce((sum, { data }) => sum + data.length, 0);
  const fixed =
    header.numSignerAccounts * SIGNATURE_COST +
    precompiles +
    writeLocks * WRITE_LOCK_COST +
    Math.floor(dataBytes / DATA_BYTES_PER_UNIT) +
    Math.ceil(executed.loadedBytes / PAGE_BYTES) * PAGE_COST;
  return BigInt(fixed) + executed.unitsConsumed;
}

/** Sizes of code by address, with the lamports of each: these change with the size. */
const knownCode = new WeakMap<LiteSVM, Map<Address, { readonly lamports: bigint; readonly bytes: number }>>();

/** Reads the size of a program's code. It is remembered, because reading it copies the code. */
function codeBytes(svm: LiteSVM, address: Address, key: Uint8Array): number {
  const { account } = holdAccount(svm, key);
  if (account === null) return 0;
  const known = knownCode.get(svm) ?? new Map();
  knownCode.set(svm, known);
  const lamports = account.lamports();
  const remembered = known.get(address);
  if (remembered?.lamports === lamports) return remembered.bytes;
  const bytes = ACCOUNT_BASE_BYTES + account.data().length;
  known.set(address, { lamports, bytes });
  return bytes;
}
