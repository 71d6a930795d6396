import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { AuthorityType } from '@solana-program/token-2022';
import { toUiTokenAmount } from '../ledger/token-balances.ts';
import { type ByteReader, createByteReader } from '../wire/byte-reader.ts';
import { type Field, type Layout, PROGRAMS } from './instruction-layouts.ts';
import { extensionName, lowerFirst } from './token-extensions.ts';

export interface ParsedInstruction {
  readonly program: string;
  readonly programId: Address;
  readonly parsed: string | { readonly type: string; readonly info: Readonly<Record<string, unknown>> };
}

/** The memo program on every cluster, and its predecessor. */
const MEMO_PROGRAMS: ReadonlySet<string> = new Set([
  MEMO_PROGRAM_ADDRESS,
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
]);
/** A longer length was misread: no transaction holds such a text. */
const MAX_TEXT_BYTES = 4_096n;

/**
 * Parses an instruction for jsonParsed; null for programs that validators do not parse, and for damaged instructions.
 */
export function parseInstruction(
  programId: Address,
  accounts: readonly Address[],
  content: Uint8Array,
): ParsedInstruction | null {
  if (MEMO_PROGRAMS.has(programId)) {
    const text = readMemo(content);
    return text === null ? null : { program: 'spl-memo', programId, parsed: text };
  }
  const known = PROGRAMS.get(programId);
  if (!known) return null;
  try {
    const reader = createByteReader(content);
    const layout = known.layouts.get(known.readTag(reader));
    const parsed = layout && readInstruction(layout, accounts, reader);
    return parsed ? { program: known.program, programId, parsed } : null;
  } catch (error) {
    // The bytes end before the layout, or have a value that does not exist.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Returns true for a memo program. */
export function isMemoProgram(programId: string | undefined): boolean {
  return programId !== undefined && MEMO_PROGRAMS.has(programId);
}

/** Reads the text of a memo instruction; null if its bytes are not UTF-8. */
export function readMemo(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function readInstruction(
  { type, accounts: names, fields, owner }: Layout,
  accounts: readonly Address[],
  reader: ByteReader,
) {
  const required = names.filter((name) => !name.endsWith('?')).length;
  if (accounts.length < required) return null;
  const named = names.flatMap((name, index): [string, unknown][] => {
    const account = accounts[index];
    return account === undefined ? [] : [[name.replace('?', ''), account]];
  });
  const info = new Map<string, unknown>(named);
  if (owner !== undefined && accounts.length > names.length) {
    // Several signers mean that the owner is a multisig.
    info.set(`multisig${owner.charAt(0).toUpperCase()}${owner.slice(1)}`, info.get(owner));
    info.delete(owner);
    info.set('signers', accounts.slice(names.length));
  }
  for (const [name, field] of fields) {
    const value = readField(field, reader);
    if (value !== undefined) info.set(name, value);
  }
  // The name of the account depends on the kind of authority.
  if (info.has('authorityType') && !ACCOUNT_AUTHORITIES.has(info.get('authorityType'))) {
    info.set('mint', info.get('account'));
    info.delete('account');
  }
  return { type, info: Object.fromEntries(info) };
}

function readField(field: Field, reader: ByteReader): unknown {
  switch (field) {
    case 'u8':
      return reader.u8();
    case 'u64':
      return reader.u64();
    case 'amount':
      return String(reader.u64());
    case 'checkedAmount': {
      const amountBaseUnits = reader.u64();
      return toUiTokenAmount(amountBaseUnits, reader.u8());
    }
    case 'address':
      return reader.address();
    case 'address?':
      return reader.u8() === 1 ? reader.address() : undefined;
    case 'address|null':
      return reader.u8() === 1 ? reader.address() : null;
    case 'addresses':
      return Array.from({ length: readLength(reader) }, () => reader.address());
    case 'text':
      return new TextDecoder().decode(reader.bytes(readLength(reader)));
    case 'authorityType':
      return readAuthorityType(reader);
    case 'extensionTypes': {
      const names: string[] = [];
      while (!reader.atEnd()) names.push(extensionName(reader.u16()));
      return names.length === 0 ? undefined : names;
    }
    default:
      return field satisfies never;
  }
}

function readLength(reader: ByteReader): number {
  const length = reader.u64();
  if (length > MAX_TEXT_BYTES) throw new RangeError(`${length} is longer than a transaction`);
  return Number(length);
}

/** Kinds of authority that a token account has; mints have all others. */
const ACCOUNT_AUTHORITIES: ReadonlySet<unknown> = new Set(['accountOwner', 'closeAccount']);

function readAuthorityType(reader: ByteReader): string {
  const type = reader.u8();
  const name = AuthorityType[type];
  if (name === undefined) throw new RangeError(`Authority ${type} does not exist`);
  return lowerFirst(name);
}
