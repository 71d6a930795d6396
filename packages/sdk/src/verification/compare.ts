import type { RotateAction } from '@flywheel/api';
import { describeInstruction } from '@flywheel/protocol';
import { PERMISSION } from '@flywheel/squads';
import { bytesEqual } from '@solana/kit';
import type { MemberChange, PipelineOnChain } from '../chain/squads.ts';
import {
  expectedInstructions,
  type PlainInstruction,
  type VaultPipeline,
  type VaultToken,
} from './expected-instructions.ts';

/** A point in which the chain differs from the pipelines shown. */
export interface Mismatch {
  /** Zero-based position of the pipeline; null for the batch as a whole. */
  readonly pipeline: number | null;
  /** A sentence. */
  readonly text: string;
}

/** Lists every mismatch between the pipelines shown and the messages on chain; empty if they are the same. */
export async function compareBatch(
  shown: readonly VaultPipeline[],
  onChain: readonly PipelineOnChain[],
  token: VaultToken,
): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  if (shown.length !== onChain.length) {
    const text = `The batch on chain has ${onChain.length} transactions; ${shown.length} pipelines are shown.`;
    mismatches.push({ pipeline: null, text });
  }
  for (const [position, pipeline] of shown.entries()) {
    const found = onChain[position];
    if (!found) continue;
    const expected = await expectedInstructions(pipeline, token);
    const texts = [...signerMismatches(found, token), ...instructionMismatches(expected, found.instructions)];
    mismatches.push(...texts.map((text) => ({ pipeline: position, text })));
  }
  return mismatches;
}

/** Lists every mismatch between the replacement shown and the config changes on chain; empty if they are the same. */
export function compareRotation(
  { from, to }: Pick<RotateAction, 'from' | 'to'>,
  changes: readonly MemberChange[],
): Mismatch[] {
  const [first, second, ...more] = changes;
  const isReplacement =
    first?.kind === 'add' &&
    first.member === to &&
    // A vote alone, without the permissions to initiate and to execute.
    first.permissions === PERMISSION.vote &&
    second?.kind === 'remove' &&
    second.member === from &&
    more.length === 0;
  if (isReplacement) return [];
  const found = changes.map(describeChange).join(', then ') || 'nothing';
  return [{ pipeline: 0, text: `Shown: ${to} is added with a vote, then ${from} is removed. On chain: ${found}.` }];
}

function signerMismatches({ signers, ephemeralSignerCount }: PipelineOnChain, { vault }: VaultToken): string[] {
  const isVaultAlone = signers.length === 1 && signers[0] === vault;
  return [
    ...(isVaultAlone ? [] : [`It is signed by ${signers.join(', ')}, not by the vault alone.`]),
    ...(ephemeralSignerCount === 0 ? [] : [`It has ${ephemeralSignerCount} signers beside the vault.`]),
  ];
}

function instructionMismatches(expected: readonly PlainInstruction[], found: readonly PlainInstruction[]): string[] {
  const length = Math.max(expected.length, found.length);
  return Array.from({ length }, (_, position) => {
    const [shown, onChain] = [expected[position], found[position]];
    if (shown && onChain && isSame(shown, onChain)) return null;
    return `Shown: ${sentenceOf(shown)}. On chain: ${sentenceOf(onChain)}.`;
  }).filter((text) => text !== null);
}

function sentenceOf(instruction: PlainInstruction | undefined): string {
  if (!instruction) return 'nothing';
  const { program, text } = describeInstruction(instruction);
  return `${program} ${text}`;
}

function isSame(a: PlainInstruction, b: PlainInstruction): boolean {
  return (
    a.programAddress === b.programAddress &&
    bytesEqual(a.data, b.data) &&
    a.accounts.length === b.accounts.length &&
    a.accounts.every((account, index) => account === b.accounts[index])
  );
}

function describeChange(change: MemberChange): string {
  switch (change.kind) {
    case 'add':
      return `${change.member} is added with the permissions ${change.permissions} (${PERMISSION.vote} is a vote)`;
    case 'remove':
      return `${change.member} is removed`;
    case 'other':
      return `a change of the multisig’s configuration (${change.name})`;
    default:
      return change satisfies never;
  }
}
