import { createSolanaRpc, isAddress } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { CliError } from '../cli-error.ts';
import { createMint, fund } from '../cluster/localnet-control.ts';
import { type Context, type RpcUrlOption, rpcUrlOf } from '../context.ts';
import { parseAmount, SOL_DECIMALS } from '../input/amount.ts';
import { parseWholeNumber } from '../input/whole-number.ts';
import { interruptible } from '../terminal/interrupt.ts';

interface StartOptions {
  readonly port: number;
  readonly state?: string;
}

interface CreateTokenOptions extends RpcUrlOption {
  readonly decimals: number;
  readonly token2022?: boolean;
}

interface FundOptions extends RpcUrlOption {
  readonly sol?: string;
  readonly mint?: string;
  readonly tokens?: string;
}

const DEFAULT_PORT = 8_899;
const MAX_PORT = 65_535;
/** A mint’s decimals are one byte. More than 19 digits no u64 amount can have. */
const MAX_DECIMALS = 19;

/** `flywheel localnet start`, `create-token` and `fund` */
export function addLocalnetCommands(program: Command, context: Context): void {
  const { output, environment } = context;
  const localnet = program
    .command('localnet')
    .summary('run a local cluster; make tokens and money on it')
    .description('A Solana cluster in one process, and what only a local one offers: tokens and money for nothing.');

  localnet
    .command('start')
    .description('Run a cluster by itself, until Ctrl-C. npm start brings its own.')
    .option('--port <port>', '0 picks a free one', parseWholeNumber(0, MAX_PORT), DEFAULT_PORT)
    .option('--state <directory>', 'keep the chain in this directory; in memory by default')
    .addHelpText('after', '\nExample:\n  flywheel localnet start --port 8899 --state .localnet')
    .action(async ({ port, state }: StartOptions) => {
      const { startLocalnet } = await import('@flywheel/localnet');
      const squadsProgram = environment.FLYWHEEL_SQUADS_PROGRAM;
      const running = await startLocalnet({ port, stateDirectory: state ?? null, squadsProgram });
      const { url, blockEngineUrl, program, programNote } = running;
      output.result(
        { rpcUrl: url, blockEngineUrl, program },
        `Cluster ready at ${url}\n${programNote}\nCtrl-C stops it.`,
      );
      await untilInterrupted();
      await running.stop();
    });

  localnet
    .command('create-token')
    .description('Create a mint; the cluster keeps the mint authority.')
    .requiredOption('--decimals <digits>', 'fraction digits, 0 to 19', parseWholeNumber(0, MAX_DECIMALS))
    .option('--token-2022', 'with the Token-2022 program')
    .option('--rpc-url <url>', 'the local cluster, else SOLANA_RPC_URL')
    .addHelpText('after', '\nExample:\n  flywheel localnet create-token --decimals 6')
    .action(async ({ decimals, token2022, ...options }: CreateTokenOptions) => {
      const mint = await createMint(rpcUrlOf(context, options), { decimals, token2022: token2022 === true });
      output.result({ mint }, mint);
    });

  localnet
    .command('fund')
    .description('Give an address SOL, tokens or both; creates its token account.')
    .argument('<address>', 'a wallet or a vault', parseAddress)
    .option('--sol <amount>', 'SOL')
    .option('--mint <address>', 'the token')
    .option('--tokens <amount>', 'whole tokens')
    .option('--rpc-url <url>', 'the local cluster, else SOLANA_RPC_URL')
    .addHelpText('after', '\nExample:\n  flywheel localnet fund 9dKe… --sol 2 --mint 7Fq2… --tokens 10000')
    .action(async (address: string, { sol, mint, tokens, ...options }: FundOptions) => {
      if (sol === undefined && tokens === undefined) {
        throw new CliError('ERR_USAGE', 'Nothing to give. Say --sol N, or --mint ADDRESS --tokens N, or both.');
      }
      if ((mint === undefined) !== (tokens === undefined)) {
        throw new CliError('ERR_USAGE', '--mint and --tokens belong together.');
      }
      const rpcUrl = rpcUrlOf(context, options);
      const funded = {
        address,
        ...(sol === undefined ? {} : { lamports: parseAmount(sol, SOL_DECIMALS) }),
        ...(mint === undefined || tokens === undefined
          ? {}
          : { mint, amountBaseUnits: parseAmount(tokens, await readDecimals(rpcUrl, mint)) }),
      };
      await fund(rpcUrl, funded);
      const given = [
        ...(sol === undefined ? [] : [`${sol} SOL`]),
        ...(tokens === undefined ? [] : [`${tokens} tokens`]),
      ];
      output.result(
        { address, ...(sol === undefined ? {} : { sol }), ...(mint === undefined ? {} : { mint, tokens }) },
        `Gave ${given.join(' and ')} to ${address}.`,
      );
    });
}

function parseAddress(text: string): string {
  if (isAddress(text)) return text;
  throw new InvalidArgumentError('It must be a base58 address of 32 bytes.');
}

async function readDecimals(rpcUrl: string, mint: string): Promise<number> {
  if (!isAddress(mint)) throw new CliError('ERR_USAGE', `--mint ${mint} is no base58 address of 32 bytes.`);
  try {
    const { value } = await createSolanaRpc(rpcUrl).getTokenSupply(mint, { commitment: 'confirmed' }).send();
    return value.decimals;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('ERR_CLUSTER', `${mint} cannot be read as a mint at ${rpcUrl}: ${reason}`, { cause });
  }
}

async function untilInterrupted(): Promise<void> {
  await interruptible(
    (signal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      }),
  );
}
