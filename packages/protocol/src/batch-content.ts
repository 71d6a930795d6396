import {
  type Address,
  addEncoderSizePrefix,
  getArrayEncoder,
  getBytesEncoder,
  getStructEncoder,
  getU32Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { addressEncoder } from './addresses.ts';
import { groupDigits, SOL_DECIMALS, toDecimal } from './amounts.ts';
import { describeInstruction } from './describe-instruction.ts';
import { sha256Hex } from './sha256.ts';
import { type DescribedInstruction, readVaultInstruction } from './vault-instruction.ts';

/** The effects of a proposal: the instructions of each of its pipelines, or the replacement of a member of the multisig. */
export type BatchContent =
  | { readonly pipelines: readonly (readonly DescribedInstruction[])[] }
  | { readonly replacement: MemberReplacement };

/** An approver only votes; an operator proposes, executes and collects the rent, and has no vote. */
export interface MemberReplacement {
  readonly role: 'approver' | 'operator';
  readonly from: Address;
  readonly to: Address;
}

/** The content of a batch in numbers, read from the bytes of its instructions alone. */
export interface ContentSummary {
  /** Sentences without a full stop, such as `Burns 5 tokens of the mint …`, in a fixed order. */
  readonly effects: readonly string[];
  readonly pipelines: number;
  /** Number of accounts that receive tokens or SOL, each counted once. */
  readonly recipients: number;
  /** Instructions that no batch of the service has, in words. Such a batch must not be approved. */
  readonly unknown: readonly string[];
}

interface Sum {
  amount: bigint;
  readonly unit: string;
  readonly decimals: number;
}

/** Sums up what a batch does. */
export function summarizeContent(content: BatchContent): ContentSummary {
  if ('replacement' in content) {
    const { role, from, to } = content.replacement;
    return { effects: [`Replaces the ${role} ${from} by ${to}`], pipelines: 1, recipients: 0, unknown: [] };
  }
  const burned = new Map<string, Sum>();
  const sent = new Map<string, Sum>();
  const recipients = new Set<Address>();
  const unknown: string[] = [];
  for (const instruction of content.pipelines.flat()) {
    const effect = readEffect(instruction);
    if (effect === null) {
      const { program, text } = describeInstruction(instruction);
      unknown.push(`${program} ${text}`);
    } else if (effect !== 'none') {
      add(effect.recipient === null ? burned : sent, effect);
      if (effect.recipient !== null) recipients.add(effect.recipient);
    }
  }
  const effects = [...sentences('Burns', burned), ...sentences('Sends', sent)];
  return { effects, pipelines: content.pipelines.length, recipients: recipients.size, unknown };
}

/**
 * Hashes the content of a batch: lowercase hex SHA-256. Of pipelines, the hash covers each program, account and byte, in
 * order; lists and data are preceded by their length (u32, little-endian).
 */
export function contentHash(content: BatchContent): string {
  const bytes =
    'replacement' in content
      ? labelled(`replacement:${content.replacement.role}`, addressesOf(content.replacement))
      : labelled('pipelines', [pipelinesEncoder.encode(content.pipelines.map((pipeline) => pipeline.map(toMutable)))]);
  return sha256Hex(bytes);
}

function addressesOf({ from, to }: MemberReplacement): ReadonlyUint8Array[] {
  return [from, to].map((member) => addressEncoder.encode(member));
}

interface Effect extends Readonly<Sum> {
  /** Null for a burn. */
  readonly recipient: Address | null;
}

/** Reads what an instruction takes from the vault; `none` for memos and new token accounts; null if it is unknown. */
function readEffect(instruction: DescribedInstruction): Effect | 'none' | null {
  const known = readVaultInstruction(instruction);
  if (known === null) return null;
  switch (known.kind) {
    case 'memo':
    case 'tokenAccountCreation':
      return 'none';
    case 'solTransfer': {
      const { lamports, recipient } = known;
      return recipient === undefined ? null : { amount: lamports, unit: 'SOL', decimals: SOL_DECIMALS, recipient };
    }
    case 'burn':
    case 'tokenTransfer': {
      const { kind, baseUnits, decimals, accounts } = known;
      const [, mint, third] = accounts;
      if (mint === undefined || third === undefined) return null;
      const recipient = kind === 'burn' ? null : third;
      return { amount: baseUnits, unit: `tokens of the mint ${mint}`, decimals, recipient };
    }
    default:
      return known satisfies never;
  }
}

function add(sums: Map<string, Sum>, { amount, unit, decimals }: Effect): void {
  // One mint with two numbers of decimals would fail on chain; two lines show it.
  const key = `${unit} ${decimals}`;
  const sum = sums.get(key);
  if (sum) sum.amount += amount;
  else sums.set(key, { amount, unit, decimals });
}

function sentences(verb: string, sums: ReadonlyMap<string, Sum>): string[] {
  const sorted = [...sums.values()].sort((a, b) => (a.unit < b.unit ? -1 : Number(a.unit > b.unit)));
  return sorted.map(({ amount, unit, decimals }) => `${verb} ${groupDigits(toDecimal(amount, decimals))} ${unit}`);
}

/** The encoder takes mutable lists. */
function toMutable({ accounts, ...instruction }: DescribedInstruction) {
  return { ...instruction, accounts: [...accounts] };
}

function labelled(label: string, parts: readonly ReadonlyUint8Array[]): Uint8Array {
  const all = [new TextEncoder().encode(`flywheel:v1:${label}\0`), ...parts];
  const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const pipelinesEncoder = getArrayEncoder(
  getArrayEncoder(
    getStructEncoder([
      ['programAddress', addressEncoder],
      ['accounts', getArrayEncoder(addressEncoder)],
      ['data', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
    ]),
  ),
);
