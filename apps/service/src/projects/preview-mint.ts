import type { MintPreview } from '@flywheel/api';
import { toDecimal } from '@flywheel/protocol';
import { isAddress } from '@solana/kit';
import type { Chain } from '../solana/chain.ts';
import { readMint } from '../solana/mint.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { programOf } from './overview/list-projects.ts';
import { readRegistrationTerms } from './registration-terms.ts';

interface PreviewMintDeps {
  readonly chain: Chain;
  readonly tokenNames: TokenNames;
}

/** What a registration would make of a mint; that it cannot be registered is an answer, not an error. */
export async function previewMint({ chain, tokenNames }: PreviewMintDeps, mint: string): Promise<MintPreview> {
  const { costLamports } = await readRegistrationTerms(chain);
  const preview = { mint, costLamports: String(costLamports) };
  if (!isAddress(mint)) return { ...preview, problem: `${mint} is no address: it has not 32 bytes.`, warnings: [] };
  const [facts, names] = await Promise.all([readMint(chain, mint), tokenNames.of([mint])]);
  if ('problem' in facts) return { ...preview, problem: `Mint ${mint} ${facts.problem}`, warnings: [] };
  const { programAddress, decimals, supply, warnings } = facts;
  return {
    ...preview,
    warnings: [...warnings],
    token: {
      program: programOf(programAddress),
      decimals,
      supply: toDecimal(supply, decimals),
      ...names.get(mint),
    },
  };
}
