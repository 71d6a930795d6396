import { createSolanaRpc, isAddress } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { parseAmount, SOL_DECIMALS } from '../amount.ts';
import { type Context, type RpcUrlOption, rpcUrlOf } from '../context.ts';
import { CliError } from '../errors.ts';
import { interruptible } from '../interrupt.ts';
import { createMint, fund } from '../localnet-control.ts';
import { callLocalnet } from '../localnet-rpc.ts';
import { parseWholeNumber } from '../options.ts';

interface StartOptions {
  readonly port: number;
  readonly state?: string;
  readonly reset?: boolean;
  readonly slotMs?: number;
  readonly program?: string;
  readonly v1: boolean;
}

interface FetchProgramsOptions {
  readonly rpc?: string;
}

interface WarpOptions extends RpcUrlOption {
  readonly slots?: number;
  readonly seconds?: number;
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
const MAX_SLOT_MS = 60_000;
/** About 300 years of seconds. */
const MAX_WARP = 10_000_000_000;
/** A mint’s decimals are one byte. More than 19 digits no u64 amount can have. */
const MAX_DECIMALS = 19;

/** What takes no options. */
const CONTROLS = [
  [
    'expire-blockhashes',
    'localnet_expireBlockhashes',
    'Let every blockhash run out: what was signed and has not landed never will.',
    'Blockhashes have run out.',
  ],
  ['pause-slots', 'localnet_pauseSlots', 'Let slots stand still: nothing new is confirmed.', 'Slots stand still.'],
  ['resume-slots', 'localnet_resumeSlots', 'Let slots go on after pause-slots.', 'Slots go on.'],
] as const;

/** `flywheel localnet` and what it offers. */
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
    .option('--reset', 'forget what --state holds')
    .option(
      '--slot-ms <ms>',
      'length of a slot, 400 by default; 0: only warp moves time',
      parseWholeNumber(0, MAX_SLOT_MS),
    )
    .option('--no-v1', 'like a cluster of before transaction version 1')
    .option('--program <file>', 'the deployed Squads program, or emulation; else FLYWHEEL_SQUADS_PROGRAM')
    .addHelpText('after', '\nExample:\n  flywheel localnet start --port 8899 --state .localnet')
    .action(async ({ port, state, reset, slotMs, v1, program: named }: StartOptions) => {
      const { startLocalnet } = await import('@flywheel/localnet');
      const running = await startLocalnet({
        port,
        stateDirectory: state ?? null,
        reset: reset === true,
        squadsProgram: named ?? environment.FLYWHEEL_SQUADS_PROGRAM,
        fetchMissingProgram: environment.FLYWHEEL_OFFLINE !== '1',
        v1,
        ...(slotMs === undefined ? {} : { slotMs }),
      });
      // From the moment that it says it is ready, whoever reads that may stop it.
      const interrupted = untilInterrupted();
      const { url, websocketUrl, blockEngineUrl, program, programNote } = running;
      output.result(
        { rpcUrl: url, websocketUrl, blockEngineUrl, program },
        `Cluster ready at ${url}\n${programNote}\nCtrl-C stops it.`,
      );
      await interrupted;
      await running.stop();
    });

  localnet
    .command('fetch-programs')
    .description('Fetch the deployed Squads program into the cache, checked byte for byte.')
    .option('--rpc <url>', 'where it is deployed; mainnet by default')
    .addHelpText('after', '\nExample:\n  flywheel localnet fetch-programs')
    .action(async ({ rpc }: FetchProgramsOptions) => {
      const { fetchSquadsProgram } = await import('@flywheel/localnet');
      try {
        const path = await fetchSquadsProgram({ rpcUrl: rpc });
        output.result({ path }, path);
      } catch (cause) {
        throw new CliError('ERR_CLUSTER', cause instanceof Error ? cause.message : String(cause), { cause });
      }
    });

  localnet
    .command('fault')
    .description('Make the cluster misbehave; without a fault: behave again.')
    .argument('[json]', 'the fault, as docs/localnet.md lists them', parseJsonObject)
    .option('--rpc-url <url>', 'the local cluster, else SOLANA_RPC_URL')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel localnet fault \'{"kind":"error","method":"*","status":429,"times":3}\'',
    )
    .action(async (fault: object | undefined, options: RpcUrlOption) => {
      const rpcUrl = rpcUrlOf(context, options);
      if (fault === undefined) await callLocalnet(rpcUrl, 'localnet_clearFaults', {});
      else await callLocalnet(rpcUrl, 'localnet_setFault', fault);
      output.result({ fault: fault ?? null }, fault === undefined ? 'No faults any more.' : 'The fault is set.');
    });

  localnet
    .command('warp')
    .description('Let slots or seconds pass at once.')
    .option('--slots <count>', 'slots, 1 by default', parseWholeNumber(1, MAX_WARP))
    .option('--seconds <count>', 'seconds that the clock moves', parseWholeNumber(0, MAX_WARP))
    .option('--rpc-url <url>', 'the local cluster, else SOLANA_RPC_URL')
    .addHelpText('after', '\nExample:\n  flywheel localnet warp --seconds 86400')
    .action(async ({ slots, seconds, ...options }: WarpOptions) => {
      const step = { ...(slots === undefined ? {} : { slots }), ...(seconds === undefined ? {} : { seconds }) };
      const reached = await callLocalnet(rpcUrlOf(context, options), 'localnet_warp', step);
      output.result({ reached }, `The cluster is at ${JSON.stringify(reached)}.`);
    });

  for (const [name, method, description, said] of CONTROLS) {
    localnet
      .command(name)
      .description(description)
      .option('--rpc-url <url>', 'the local cluster, else SOLANA_RPC_URL')
      .addHelpText('after', `\nExample:\n  flywheel localnet ${name}`)
      .action(async (options: RpcUrlOption) => {
        const reached = await callLocalnet(rpcUrlOf(context, options), method, {});
        output.result({ reached }, `${said} The cluster is at ${JSON.stringify(reached)}.`);
      });
  }

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

function parseJsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new InvalidArgumentError('It must be a JSON object.');
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
