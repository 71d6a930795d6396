import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { layOutPairs } from '../format.ts';
import type { Verification } from './verify-proof.ts';

/** The verdict, each proof that was seen, and who was asked. */
export function describeVerification(
  { isProven, message, proofs, trustsServiceForVault }: Verification,
  rpcUrl: string,
  stream: Writable,
): string {
  const mark = isProven ? styleText('green', '✓', { stream }) : styleText('red', '✗', { stream });
  return [
    `${mark} ${message}`,
    ...proofs.flatMap(({ type, hash, signature, vaultAddress, slot, executedAt }) =>
      layOutPairs(
        [
          ['proof', `${type} ${hash}`],
          ['transaction', signature],
          ['vault', vaultAddress],
          ['executed', `${executedAt ?? 'at an unknown time'}, slot ${slot ?? 'unknown'}`],
        ],
        stream,
      ),
    ),
    ...(isProven ? [`  Read from ${new URL(rpcUrl).host}.${trustsServiceForVault ? VAULT_UNCHECKED : ''}`] : []),
  ].join('\n');
}

const VAULT_UNCHECKED = ' That the vault is the right one is the service’s word: --vault holds it to another’s.';
