import { CONSOLE_OPERATIONS, type PublicVault } from '@flywheel/api';
import { groupDigits, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import { readVaultMovements, type VaultMovement } from '@flywheel/sdk';
import type { Command } from 'commander';
import { type Context, openConsole, type RpcUrlOption, resolveRpcUrls, type UrlOption } from '../../context.ts';
import { layOutPairs, layOutTable } from '../../format.ts';
import { addRpcUrlOption, addUrlOption, parseAddress, parseWholeNumber } from '../../options.ts';

interface MovementsOptions extends UrlOption, RpcUrlOption {
  readonly limit?: number;
}

/** Each transaction costs one request to the node. */
const MAX_MOVEMENTS = 100;
const DEFAULT_MOVEMENTS = 15;

/** `flywheel vault [show] ADDRESS` and `flywheel vault movements ADDRESS` */
export function addVaultCommands(program: Command, context: Context): void {
  const vault = program
    .command('vault')
    .summary('show what a vault holds, where to deposit, and what moved')
    .description('Show a vault. It is public: no wallet is needed.');
  addShow(vault, context);
  addMovements(vault, context);
}

function addShow(vault: Command, context: Context): void {
  const { output } = context;
  addUrlOption(vault.command('show', { isDefault: true }))
    .summary('show what a vault holds, and where to deposit (default)')
    .description('Show the balance of a vault and its deposit addresses.')
    .argument('<address>', 'address of the vault', parseAddress)
    .addHelpText('after', '\nExample:\n  flywheel vault 7Fq2…')
    .action(async (address: string, options: UrlOption) => {
      const found = await readVault(context, address, options);
      output.result(found, [`Vault ${found.address}`, ...layOutPairs(pairsOf(found), output.stdout)].join('\n'));
    });
}

function addMovements(vault: Command, context: Context): void {
  const { output } = context;
  addRpcUrlOption(addUrlOption(vault.command('movements')))
    .summary('list the last deposits and what was spent')
    .description(
      'List the last deposits to a vault and what it spent, newest first. The amounts are read from the chain; flywheel audit says what each was for, without a gap.',
    )
    .argument('<address>', 'address of the vault', parseAddress)
    .option(
      '--limit <number>',
      `number of transactions that are read, 1 to ${MAX_MOVEMENTS}; default: ${DEFAULT_MOVEMENTS}`,
      parseWholeNumber(1, MAX_MOVEMENTS),
    )
    .addHelpText('after', '\nExample:\n  flywheel vault movements 7Fq2… --limit 50')
    .action(async (address: string, { limit = DEFAULT_MOVEMENTS, ...options }: MovementsOptions) => {
      const { tokenAccount, mint, decimals } = await readVault(context, address, options);
      const rpcUrls = await resolveRpcUrls(context, options);
      const movements = await readVaultMovements(rpcUrls, { vault: address, tokenAccount, limit });
      const rows = movements.map((movement) => cellsOf(movement, decimals));
      const { heading, lines } = layOutTable(['TIME', 'TYPE', 'TOKENS', 'SOL', 'TRANSACTION'], rows, output.stdout);
      output.result(
        { vault: address, mint, movements: movements.map((movement) => toDocument(movement, decimals)) },
        rows.length === 0 ? 'No deposits or spending.' : [heading, ...lines].join('\n'),
      );
    });
}

function readVault(context: Context, address: string, options: UrlOption): Promise<PublicVault> {
  return openConsole(context, options).call(CONSOLE_OPERATIONS.getVault, { params: { address } });
}

function pairsOf({ lamports, tokens, mint, tokenAccount }: PublicVault): [string, string][] {
  return [
    ['SOL', `${toDecimal(BigInt(lamports), SOL_DECIMALS)}, deposited to the vault itself`],
    ['tokens', `${groupDigits(tokens)}, deposited to ${tokenAccount}`],
    ['token', mint],
  ];
}

function cellsOf({ executedAt, slot, isDeposit, baseUnits, lamports, signature }: VaultMovement, decimals: number) {
  return [
    executedAt ?? `slot ${slot}`,
    isDeposit ? 'deposit' : 'spent',
    signed(baseUnits, decimals),
    signed(lamports, SOL_DECIMALS),
    signature,
  ];
}

/** Writes a change as `+1.5` or `-1.5`, and none as a dash. */
function signed(amount: bigint, decimals: number): string {
  if (amount === 0n) return '–';
  return `${amount > 0n ? '+' : ''}${groupDigits(toDecimal(amount, decimals))}`;
}

/** Amounts are text, because JSON numbers are not exact: tokens whole, SOL in lamports, as in the service's answers. */
function toDocument({ baseUnits, lamports, ...movement }: VaultMovement, decimals: number) {
  return { ...movement, tokens: toDecimal(baseUnits, decimals), lamports: String(lamports) };
}
