import { ADDRESS_BYTES, SIGNATURE_BYTES } from '@flywheel/protocol';
import { AccountRole, type Address, type Instruction, isSignerRole, isWritableRole } from '@solana/kit';
import type { UnsignedMessage } from './fee.ts';
import type { LookupTable } from './vault-message.ts';

/** A count of what a transaction’s instructions need of it. To append instructions is to add to the count. */
export interface Tally {
  readonly version: UnsignedMessage['version'];
  readonly uses: ReadonlyMap<Address, Use>;
  readonly instructionCount: number;
  readonly instructionBytes: number;
  /** Bytes of the settings of version 1; version 0 has instructions for them. */
  readonly settingsBytes: number;
}

/** How a transaction uses an address. */
interface Use {
  readonly role: AccountRole;
  readonly isProgram: boolean;
  /** The lookup table from which the address may be loaded. */
  readonly table: Address | undefined;
}

/** Finds the lookup table of an address. */
export type FindTable = (address: Address) => Address | undefined;

/** Version, header of three bytes, and a blockhash or a nonce. */
const FIXED_BYTES = 1 + 3 + 32;
/** Mask of the settings, number of instructions, and number of addresses. */
const FIXED_BYTES_V1 = FIXED_BYTES + 4 + 1 + 1;
/** Version 1: index of the program, number of accounts, and number of data bytes, in two bytes. */
const INSTRUCTION_HEADER_BYTES_V1 = 4;
const SETTING_BYTES = 4;
const PRIORITY_FEE_BYTES = 8;

/** Counts a message. Addresses that it loads from lookup tables already stay so. */
export function tallyOf(message: UnsignedMessage): Tally {
  const uses = new Map([[message.feePayer.address, { ...UNUSED, role: AccountRole.WRITABLE_SIGNER }]]);
  const { version } = message;
  const settingsBytes = version === 1 ? bytesOfSettings(message.config ?? {}) : 0;
  const empty = { version, uses, instructionCount: 0, instructionBytes: 0, settingsBytes };
  return withInstructions(empty, message.instructions);
}

/** Counts further instructions. @param findTable names the lookup tables that they may use; none by default. */
export function withInstructions(
  { version, uses: before, instructionCount, instructionBytes, settingsBytes }: Tally,
  instructions: readonly Instruction[],
  findTable: FindTable = () => undefined,
): Tally {
  const uses = new Map(before);
  let bytes = instructionBytes;
  for (const { programAddress, accounts = [], data } of instructions) {
    uses.set(programAddress, { ...(uses.get(programAddress) ?? UNUSED), isProgram: true });
    for (const account of accounts) {
      const use = uses.get(account.address) ?? UNUSED;
      const table = 'lookupTableAddress' in account ? account.lookupTableAddress : findTable(account.address);
      uses.set(account.address, { ...use, role: use.role | account.role, table: use.table ?? table });
    }
    bytes += bytesOfInstruction(version, accounts.length, data?.length ?? 0);
  }
  return {
    version,
    uses,
    instructionCount: instructionCount + instructions.length,
    instructionBytes: bytes,
    settingsBytes,
  };
}

const UNUSED: Use = { role: AccountRole.READONLY, isProgram: false, table: undefined };

/** Finds the tables of addresses; the first table that has an address counts. */
export function findTableIn(lookupTables: readonly LookupTable[]): FindTable {
  const tables = new Map<Address, Address>();
  for (const { address: table, addresses } of lookupTables.toReversed()) {
    for (const address of addresses) tables.set(address, table);
  }
  return (address) => tables.get(address);
}

/** Counts the accounts of a transaction, those of lookup tables included. */
export function accountCount({ uses }: Tally): number {
  return uses.size;
}

/**
 * Counts the bytes of a transaction with all its signatures, as kit’s `getTransactionMessageSize` does. Kit compiles and writes
 * the whole message for this: planning would take time with the square of the instructions.
 */
export function transactionSize({ version, uses, instructionCount, instructionBytes, settingsBytes }: Tally): number {
  const loaded = new Map<Address, { writable: number; readonly: number }>();
  let [signatures, fixed] = [0, 0];
  for (const { role, isProgram, table } of uses.values()) {
    if (isSignerRole(role)) signatures += 1;
    // A program, and an account that signs, are never loaded from a table.
    if (table === undefined || isProgram || isSignerRole(role)) {
      fixed += 1;
      continue;
    }
    const counts = loaded.get(table) ?? { writable: 0, readonly: 0 };
    counts[isWritableRole(role) ? 'writable' : 'readonly'] += 1;
    loaded.set(table, counts);
  }
  const common = SIGNATURE_BYTES * signatures + ADDRESS_BYTES * fixed + instructionBytes;
  // Version 1 knows the number of signatures from its header.
  if (version === 1) return FIXED_BYTES_V1 + common + settingsBytes;
  const lookups = [...loaded.values()].reduce(
    (sum, { writable, readonly }) =>
      sum + ADDRESS_BYTES + bytesOfLength(writable) + writable + bytesOfLength(readonly) + readonly,
    bytesOfLength(loaded.size),
  );
  const lengths = bytesOfLength(signatures) + bytesOfLength(fixed) + bytesOfLength(instructionCount);
  return FIXED_BYTES + common + lengths + lookups;
}

function bytesOfInstruction(version: Tally['version'], accounts: number, dataBytes: number): number {
  if (version === 1) return INSTRUCTION_HEADER_BYTES_V1 + accounts + dataBytes;
  return 1 + bytesOfLength(accounts) + accounts + bytesOfLength(dataBytes) + dataBytes;
}

function bytesOfSettings({
  priorityFeeLamports,
  ...others
}: {
  readonly priorityFeeLamports?: bigint | undefined;
}): number {
  const count = Object.values(others).filter((value) => value !== undefined).length;
  return (priorityFeeLamports === undefined ? 0 : PRIORITY_FEE_BYTES) + SETTING_BYTES * count;
}

/** Bytes of a number in shortU16, which has seven bits in a byte. */
function bytesOfLength(length: number): number {
  if (length < 0x80) return 1;
  return length < 0x40_00 ? 2 : 3;
}
