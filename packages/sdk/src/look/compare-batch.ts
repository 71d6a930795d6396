import { bytesEqual } from '@solana/kit';
import { instructionsOf, type PlainInstruction, type VaultPipeline, type VaultToken } from '../chain/instructions.ts';
import type { PipelineOnChain } from '../chain/read-batch.ts';
import { describeInstruction } from './describe-instruction.ts';

/** Where what is on chain differs from the pipelines shown. */
export interface Difference {
  /** Zero-based pipeline; null for the batch as a whole. */
  readonly pipeline: number | null;
  readonly text: string;
}

/** Everything in which the messages on chain differ from the pipelines shown; empty when they are the same. */
export async function compareBatch(
  shown: readonly VaultPipeline[],
  onChain: readonly PipelineOnChain[],
  token: VaultToken,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  if (shown.length !== onChain.length) {
    const text = `The chain holds ${onChain.length} transactions; the batch shown has ${shown.length} pipelines.`;
    differences.push({ pipeline: null, text });
  }
  for (const [position, pipeline] of shown.entries()) {
    const held = onChain[position];
    if (!held) continue;
    const expected = await instructionsOf(pipeline, token);
    const texts = [...signerFaults(held, token), ...instructionFaults(expected, held.instructions, token)];
    differences.push(...texts.map((text) => ({ pipeline: position, text })));
  }
  return differences;
}

function signerFaults({ signers, ephemeralSignerCount }: PipelineOnChain, { vault }: VaultToken): string[] {
  const isVaultAlone = signers.length === 1 && signers[0] === vault;
  return [
    ...(isVaultAlone ? [] : [`It is signed by ${signers.join(', ')}, not by the vault alone.`]),
    ...(ephemeralSignerCount === 0 ? [] : [`It has ${ephemeralSignerCount} signers beside the vault.`]),
  ];
}

function instructionFaults(
  expected: readonly PlainInstruction[],
  held: readonly PlainInstruction[],
  token: VaultToken,
): string[] {
  const length = Math.max(expected.length, held.length);
  return Array.from({ length }, (_, position) => {
    const [wanted, found] = [expected[position], held[position]];
    if (wanted && found && isSame(wanted, found)) return null;
    const say = (instruction: PlainInstruction | undefined) =>
      instruction ? describeInstruction(instruction, token) : 'nothing';
    return `Shown: ${say(wanted)}. On chain: ${say(found)}.`;
  }).filter((fault) => fault !== null);
}

function isSame(a: PlainInstruction, b: PlainInstruction): boolean {
  return (
    a.program === b.program &&
    bytesEqual(a.data, b.data) &&
    a.accounts.length === b.accounts.length &&
    a.accounts.every((account, index) => account === b.accounts[index])
  );
}
