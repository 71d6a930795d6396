import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { CONSOLE_OPERATIONS, type MintPreview } from '@flywheel/api';
import { groupDigits, visibleText } from '@flywheel/protocol';
import type { Command } from 'commander';
import { type Context, openConsole, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';
import { formatSol, layOutPairs } from '../../format.ts';
import { addUrlOption, addWalletOption, parseAddress } from '../../options.ts';

interface MintOptions extends UrlOption {
  readonly wallet: string;
}

/** `flywheel mint ADDRESS` */
export function addMintCommand(program: Command, context: Context): void {
  const { output } = context;
  addUrlOption(addWalletOption(program.command('mint')))
    .summary('show a token, its risks, and what its registration costs')
    .description(
      'Show a token as it is on chain, the powers that others have over a vault that holds it, and what its registration costs now. Nothing is created. Exits with 3 if it cannot be registered.',
    )
    .argument('<address>', 'address of the mint', parseAddress)
    .addHelpText('after', '\nExample:\n  flywheel mint 7Fq2… --wallet wallet.json')
    .action(async (mint: string, options: MintOptions) => {
      const console = openConsole(context, options);
      await console.signIn(await readWallet(options.wallet));
      const preview = await console.call(CONSOLE_OPERATIONS.previewMint, { params: { mint } });
      output.result(preview, describeMint(preview, output.stdout));
      if (preview.problem !== undefined) throw new CliError('ERR_PREVIEW_FAILED', preview.problem);
    });
}

function describeMint(preview: MintPreview, stream: Writable): string {
  const warnings = preview.warnings.map((warning) => `${styleText('yellow', '!', { stream })} ${warning}`);
  return [`Mint ${preview.mint}`, ...layOutPairs(pairsOf(preview), stream), ...warnings].join('\n');
}

function pairsOf({ token, problem, costLamports }: MintPreview) {
  const cost = `${formatSol(costLamports)}, paid by the wallet`;
  return [...(token === undefined ? [] : factsOf(token)), ...(problem === undefined ? [['cost', cost] as const] : [])];
}

function factsOf({ name = '', symbol, supply, decimals, program }: NonNullable<MintPreview['token']>) {
  const names = visibleText(symbol === undefined ? name : `${name} (${symbol})`.trim());
  return [
    ...(names === '' ? [] : [['name', `${names}, not verified`] as const]),
    ['supply', `${groupDigits(supply)} tokens`] as const,
    ['decimals', String(decimals)] as const,
    ['program', program === 'token-2022' ? 'Token-2022' : 'SPL Token'] as const,
  ];
}
