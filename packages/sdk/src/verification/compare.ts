import type { RotateAction } from '@flywheel/api';
import { address, type DescribedInstruction, describeInstruction } from '@flywheel/protocol';
import { PERMISSION, VAULT_INDEX } from '@flywheel/squads';
import { bytesEqual } from '@solana/kit';
import type { BatchOnChain, MemberChange, PipelineOnChain, ProposalOnChain } from '../chain/squads.ts';
import { expectedInstructions, type VaultPipeline, type VaultToken } from './expected-instructions.ts';
import { describeMember } from './registration-terms.ts';

/** A point in which the chain differs from the pipelines shown. */
export interface Mismatch {
  /** Zero-based position of the pipeline; null for the batch as a whole. */
  readonly pipeline: number | null;
  /** A sentence. */
  readonly text: string;
}

/** Lists every mismatch between the pipelines shown and the messages on chain; empty if they are the same. */
export function compareBatch(
  shown: readonly VaultPipeline[],
  onChain: readonly PipelineOnChain[],
  token: VaultToken,
): Mismatch[] {
  const mismatches: Mismatch[] = [];
  if (shown.length !== onChain.length) {
    const text = `The batch on chain has ${onChain.length} transactions; ${shown.length} pipelines are shown.`;
    mismatches.push({ pipeline: null, text });
  }
  for (const [position, pipeline] of shown.entries()) {
    const found = onChain[position];
    if (!found) continue;
    const texts = [...signerMismatches(found, token), ...contentMismatches(pipeline, found, token)];
    mismatches.push(...texts.map((text) => ({ pipeline: position, text })));
  }
  return mismatches;
}

/** Lists every mismatch between the replacement shown and the config changes on chain; empty if they are the same. */
export function compareRotation(shown: ShownRotation, changes: readonly MemberChange[]): Mismatch[] {
  // Each sentence holds every value of its change, so equal sentences are equal changes.
  const expected = expectedChanges(shown).map(describeMemberChange).join(', then ');
  const found = changes.map(describeMemberChange).join(', then ') || 'nothing';
  return found === expected ? [] : [{ pipeline: 0, text: `Shown: ${expected}. On chain: ${found}.` }];
}

type ShownRotation = Pick<RotateAction, 'approver' | 'from' | 'to'>;

/** A voter only votes. An operator proposes, executes and collects the rent, and has no vote. */
function expectedChanges({ approver, from, to }: ShownRotation): MemberChange[] {
  const isOperator = approver === 'operator';
  const permissions = isOperator ? PERMISSION.initiate | PERMISSION.execute : PERMISSION.vote;
  return [
    { kind: 'add', member: address(to), permissions },
    ...(isOperator ? [{ kind: 'collectRent', collector: address(to) } as const] : []),
    { kind: 'remove', member: address(from) },
  ];
}

function signerMismatches({ signers, ephemeralSignerCount }: PipelineOnChain, { vault }: VaultToken): string[] {
  const isVaultAlone = signers.length === 1 && signers[0] === vault;
  return [
    ...(isVaultAlone ? [] : [`It is signed by ${signers.join(', ')}, not by the vault alone.`]),
    ...(ephemeralSignerCount === 0 ? [] : [`It has ${ephemeralSignerCount} signers beside the vault.`]),
  ];
}

function contentMismatches(pipeline: VaultPipeline, found: PipelineOnChain, token: VaultToken): string[] {
  try {
    return instructionMismatches(expectedInstructions(pipeline, token), found.instructions);
  } catch (error) {
    // An amount that the mint cannot have is on no chain.
    if (error instanceof RangeError) return [`Shown: ${error.message}`];
    throw error;
  }
}

function instructionMismatches(
  expected: readonly DescribedInstruction[],
  found: readonly DescribedInstruction[],
): string[] {
  const length = Math.max(expected.length, found.length);
  return Array.from({ length }, (_, position) => {
    const [shown, onChain] = [expected[position], found[position]];
    if (shown && onChain && isSame(shown, onChain)) return null;
    return `Shown: ${sentenceOf(shown)}. On chain: ${sentenceOf(onChain)}.`;
  }).filter((text) => text !== null);
}

/** Says in a sentence what an instruction does. */
export function sentenceOf(instruction: DescribedInstruction | undefined): string {
  if (!instruction) return 'nothing';
  const { program, text } = describeInstruction(instruction);
  return `${program} ${text}`;
}

/** True if two instructions have the same program, accounts and bytes. */
export function isSame(a: DescribedInstruction, b: DescribedInstruction): boolean {
  return (
    a.programAddress === b.programAddress &&
    bytesEqual(a.data, b.data) &&
    a.accounts.length === b.accounts.length &&
    a.accounts.every((account, index) => account === b.accounts[index])
  );
}

/** A draft can receive more messages after it was verified, and a signature on a durable nonce stays valid. */
export function statusIssues({ status }: ProposalOnChain['proposal']): string[] {
  return status === 'Active' ? [] : [`The proposal on chain is ${status}, not Active.`];
}

export function vaultIssues({ vaultIndex }: Pick<BatchOnChain, 'vaultIndex'>): string[] {
  return vaultIndex === VAULT_INDEX
    ? []
    : [`The batch spends from vault ${vaultIndex}, not from vault ${VAULT_INDEX}.`];
}

/** Says in a sentence what a change of a multisig does. */
export function describeMemberChange(change: MemberChange): string {
  switch (change.kind) {
    case 'add':
      return `${describeMember({ key: change.member, permissions: { mask: change.permissions } })} is added`;
    case 'remove':
      return `${change.member} is removed`;
    case 'collectRent':
      return `${change.collector ?? 'no account'} collects the rent`;
    case 'other':
      return `a change of the multisig’s configuration (${change.name})`;
    default:
      return change satisfies never;
  }
}
