import { MAX_BASE_UNITS, MAX_DECIMALS, messageOf, parseAmount, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import {
  callLocalnet,
  createMint,
  createRpcTransport,
  fundAccount,
  INVALID_PARAMS,
  RpcError,
} from '@flywheel/solana-rpc';
import { type Address, createSolanaRpcFromTransport } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { toClusterError } from '../cluster-error.ts';
import { type Context, localRpcUrl, type OptionalRpcUrlOption, optionalRpcUrl, type RpcUrlOption } from '../context.ts';
import { CliError } from '../errors.ts';
import { interruptible } from '../interrupt.ts';
import {
  addLocalRpcUrlOption,
  addOptionalRpcUrlOption,
  parseAddress,
  parsePort,
  parseWholeNumber,
} from '../options.ts';

interface StartOptions {
  readonly port: number;
  readonly state?: string;
  readonly reset?: boolean;
  readonly slotMs?: number;
  readonly auctionMs?: number;
  readonly engineRequestsPerSecond?: number;
  readonly program?: string;
  readonly v1: boolean;
  readonly account?: readonly string[];
  readonly accountDir?: readonly string[];
  readonly bpfProgram?: readonly string[];
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
  readonly mint?: Address;
  readonly tokens?: string;
}

const DEFAULT_PORT = 8_899;
const MAX_SLOT_MS = 60_000;
const MAX_ENGINE_REQUESTS = 1_000_000;
/** About 300 years of seconds. */
const MAX_WARP = 10_000_000_000;

/** `flywheel localnet` and its commands. */
export function addLocalnetCommands(program: Command, context: Context): void {
  const localnet = program
    .command('localnet')
    .summary('run and control a local Solana cluster')
    .description(
      'A Solana cluster in one process, for development and tests: free tokens and SOL, time control, fault injection.',
    );
  addStart(localnet, context);
  addFetchPrograms(localnet, context);
  addCreateToken(localnet, context);
  addFund(localnet, context);
  addFault(localnet, context);
  addWarp(localnet, context);
  addFork(localnet, context);
  addSlotCommands(localnet, context);
}

function addStart(localnet: Command, { output, environment }: Context): void {
  localnet
    .command('start')
    .summary('run a cluster until Ctrl-C')
    .description('Run a cluster until Ctrl-C. npm start includes one.')
    .option('--port <port>', 'RPC port; 0: any free port', parsePort, DEFAULT_PORT)
    .option('--state <directory>', 'keep the chain in this directory; default: in memory')
    .option('--reset', 'delete the chain in --state first')
    .option(
      '--slot-ms <ms>',
      'length of a slot; 0: slots advance only with warp; default: 400',
      parseWholeNumber(0, MAX_SLOT_MS),
    )
    .option(
      '--auction-ms <ms>',
      'time after which the block engine has landed or forgotten a bundle; default: 200',
      parseWholeNumber(1, MAX_SLOT_MS),
    )
    .option(
      '--engine-requests-per-second <count>',
      'requests that the block engine accepts in a second; default: any number',
      parseWholeNumber(1, MAX_ENGINE_REQUESTS),
    )
    .option('--no-v1', 'reject version 1 transactions, like older clusters')
    .option('--program <file>', 'Squads program file, or the word emulation; default: FLYWHEEL_SQUADS_PROGRAM')
    .option('--account <address-file...>', 'address and file of an account (solana account --output json); repeatable')
    .option('--account-dir <directory...>', 'all such files of a directory, each at its own address')
    .option('--bpf-program <address-file...>', 'address and ELF file of a program; repeatable')
    .addHelpText('after', '\nExample:\n  flywheel localnet start --port 8899 --state .localnet')
    .action(async ({ port, state, reset, v1, program, account, accountDir, bpfProgram, ...pace }: StartOptions) => {
      const genesis = {
        accounts: parsePairs('--account', account),
        accountDirectories: accountDir ?? [],
        programs: parsePairs('--bpf-program', bpfProgram),
      };
      const { GenesisFileError, LedgerError, SquadsProgramError, startLocalnet } = await import('@flywheel/localnet');
      const nextSteps = [
        [LedgerError, 'ERR_CONFIGURATION', 'Pass another directory as --state.'],
        [GenesisFileError, 'ERR_FILE', 'Check --account, --account-dir and --bpf-program.'],
        [SquadsProgramError, 'ERR_FILE', 'Pass the deployed program as --program, or the word emulation.'],
      ] as const;
      const running = await startLocalnet({
        port,
        stateDirectory: state ?? null,
        reset: reset === true,
        squadsProgram: program ?? environment.FLYWHEEL_SQUADS_PROGRAM,
        fetchMissingProgram: environment.FLYWHEEL_OFFLINE !== '1',
        v1,
        genesis,
        ...pace,
      }).catch((cause: unknown) => {
        if (!(cause instanceof Error)) throw cause;
        const [, kind, step] = nextSteps.find(([Known]) => cause instanceof Known) ?? [];
        if (kind) throw new CliError(kind, `${cause.message} ${step}`, { cause });
        const code = 'code' in cause ? cause.code : null;
        if (code !== 'EADDRINUSE' && code !== 'EACCES') throw cause;
        const message = `Port ${port} cannot be used: ${cause.message}. Pass another one as --port.`;
        throw new CliError('ERR_CONFIGURATION', message, { cause });
      });
      // Listen for signals before the ready line: its reader may stop the cluster at once.
      const interrupted = untilInterrupted();
      const { url, websocketUrl, blockEngineUrl, programNote } = running;
      output.result(
        { rpcUrl: url, websocketUrl, blockEngineUrl, program: running.program },
        `Cluster ready at ${url}\n${programNote}\nPress Ctrl-C to stop it.`,
      );
      await interrupted;
      await running.stop();
    });
}

/** Reads pairs of an address and a file: the option may be given once with all pairs, or once for each. */
function parsePairs(option: string, values: readonly string[] = []) {
  if (values.length % 2 === 1) throw new CliError('ERR_USAGE', `${option} takes an address and a file.`);
  return Array.from({ length: values.length / 2 }, (_, index) => ({
    address: parseAddress(values[2 * index] ?? ''),
    file: values[2 * index + 1] ?? '',
  }));
}

async function untilInterrupted(): Promise<void> {
  await interruptible(
    (signal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      }),
  );
}

function addFetchPrograms(localnet: Command, context: Context): void {
  const command = localnet
    .command('fetch-programs')
    .summary('download the deployed Squads program')
    .description('Download the deployed Squads program into the cache and verify its hash.');
  addOptionalRpcUrlOption(command, 'node to download from; default: mainnet')
    .addHelpText('after', '\nExample:\n  flywheel localnet fetch-programs')
    .action(async (options: OptionalRpcUrlOption) => {
      const rpcUrl = optionalRpcUrl(context, options);
      const { fetchSquadsProgram } = await import('@flywheel/localnet');
      try {
        const path = await fetchSquadsProgram({ rpcUrl });
        context.output.result({ path }, path);
      } catch (cause) {
        throw new CliError('ERR_CLUSTER', messageOf(cause), { cause });
      }
    });
}

function addCreateToken(localnet: Command, context: Context): void {
  const command = localnet
    .command('create-token')
    .summary('create a token')
    .description('Create a mint. The cluster keeps the mint authority.')
    .requiredOption(
      '--decimals <digits>',
      `decimals of the token, 0 to ${MAX_DECIMALS}`,
      parseWholeNumber(0, MAX_DECIMALS),
    )
    .option('--token-2022', 'use the Token-2022 program');
  addLocalRpcUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel localnet create-token --decimals 6')
    .action(async ({ decimals, token2022, ...options }: CreateTokenOptions) => {
      const rpcUrl = await localRpcUrl(context, options);
      const request = { decimals, token2022: token2022 === true };
      const mint = await withNextStep(rpcUrl, 'localnet_createMint', () => createMint(rpcUrl, request));
      context.output.result({ mint }, mint);
    });
}

function addFund(localnet: Command, context: Context): void {
  const command = localnet
    .command('fund')
    .summary('give an address SOL or tokens')
    .description('Give an address SOL, tokens or both. Creates its token account if needed.')
    .argument('<address>', 'wallet or vault', parseAddress)
    .option('--sol <amount>', 'amount of SOL')
    .option('--mint <address>', 'mint of the token', parseAddress)
    .option('--tokens <amount>', 'amount of whole tokens');
  addLocalRpcUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel localnet fund 9dKe… --sol 2 --mint 7Fq2… --tokens 10000')
    .action(async (address: Address, { sol, mint, tokens, ...options }: FundOptions) => {
      if (sol === undefined && tokens === undefined) {
        throw new CliError('ERR_USAGE', 'No amount. Pass --sol AMOUNT, or --mint ADDRESS --tokens AMOUNT, or both.');
      }
      if ((mint === undefined) !== (tokens === undefined)) {
        throw new CliError('ERR_USAGE', 'Pass --mint and --tokens together.');
      }
      const rpcUrl = await localRpcUrl(context, options);
      const funding = {
        address,
        ...(sol === undefined ? {} : { lamports: parseAmountOption(sol, SOL_DECIMALS) }),
        ...(mint === undefined || tokens === undefined
          ? {}
          : { mint, baseUnits: parseAmountOption(tokens, await readDecimals(rpcUrl, mint)) }),
      };
      await withNextStep(rpcUrl, 'localnet_fund', () => fundAccount(rpcUrl, funding));
      const given = [
        ...(sol === undefined ? [] : [`${sol} SOL`]),
        ...(tokens === undefined ? [] : [`${tokens} tokens`]),
      ];
      context.output.result(
        { address, ...(sol === undefined ? {} : { sol }), ...(mint === undefined ? {} : { mint, tokens }) },
        `Sent ${given.join(' and ')} to ${address}.`,
      );
    });
}

/**
 * Calls a method that only a local cluster has, and that does nothing if it refuses its parameters.
 * @throws CliError with the next step.
 */
function control(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  return withNextStep(rpcUrl, method, () =>
    callLocalnet(rpcUrl, method, params).catch((error: unknown) => {
      if (!(error instanceof RpcError) || error.code !== INVALID_PARAMS) throw error;
      throw new CliError('ERR_USAGE', `${method}: ${error.message}`, { cause: error });
    }),
  );
}

async function withNextStep<T>(rpcUrl: string, method: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof RangeError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw toClusterError(error, { rpcUrl, method });
  }
}

function parseAmountOption(text: string, decimals: number): bigint {
  try {
    return parseAmount(text, decimals);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const max = toDecimal(MAX_BASE_UNITS, decimals);
    const message = `Invalid amount ${text}. Expected a number from 0 to ${max} with at most ${decimals} decimals.`;
    throw new CliError('ERR_USAGE', message, { cause });
  }
}

async function readDecimals(rpcUrl: string, mint: Address): Promise<number> {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl, maxAttempts: 1 }));
  const { value } = await withNextStep(rpcUrl, `Cannot read the mint ${mint}`, () =>
    rpc.getTokenSupply(mint, { commitment: 'confirmed' }).send(),
  );
  return value.decimals;
}

function addFault(localnet: Command, context: Context): void {
  const command = localnet
    .command('fault')
    .summary('inject a fault, or remove all faults')
    .description('Inject a fault into the cluster. Without a fault: remove all faults.')
    .argument('[json]', 'the fault, as described in docs/localnet.md', parseJsonObject);
  addLocalRpcUrlOption(command)
    .addHelpText(
      'after',
      '\nExample:\n  flywheel localnet fault \'{"kind":"error","method":"*","status":429,"times":3}\'',
    )
    .action(async (fault: object | undefined, options: RpcUrlOption) => {
      const rpcUrl = await localRpcUrl(context, options);
      if (fault === undefined) await control(rpcUrl, 'localnet_clearFaults', {});
      else await control(rpcUrl, 'localnet_setFault', fault);
      context.output.result({ fault: fault ?? null }, fault === undefined ? 'All faults removed.' : 'Fault injected.');
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

function addWarp(localnet: Command, context: Context): void {
  const command = localnet
    .command('warp')
    .summary('skip slots or seconds')
    .description('Skip slots or seconds: the cluster jumps ahead at once.')
    .option('--slots <count>', 'number of slots; default: 1', parseWholeNumber(1, MAX_WARP))
    .option('--seconds <count>', 'number of seconds on the cluster’s clock', parseWholeNumber(0, MAX_WARP));
  addLocalRpcUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel localnet warp --seconds 86400')
    .action(async ({ slots, seconds, ...options }: WarpOptions) => {
      const step = { ...(slots === undefined ? {} : { slots }), ...(seconds === undefined ? {} : { seconds }) };
      const reached = await control(await localRpcUrl(context, options), 'localnet_warp', step);
      context.output.result({ reached }, `The cluster is at ${JSON.stringify(reached)}.`);
    });
}

function addFork(localnet: Command, context: Context): void {
  const command = localnet
    .command('fork')
    .summary('abandon the newest blocks')
    .description('Abandon the newest blocks, as when a cluster chooses another fork. Their transactions are undone.')
    .option('--slots <count>', 'number of complete blocks; default: 1', parseWholeNumber(0, MAX_WARP));
  addLocalRpcUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel localnet fork --slots 3')
    .action(async ({ slots, ...options }: RpcUrlOption & { readonly slots?: number }) => {
      const reached = await control(await localRpcUrl(context, options), 'localnet_fork', {
        ...(slots === undefined ? {} : { slots }),
      });
      context.output.result({ reached }, `Blocks are abandoned: ${JSON.stringify(reached)}.`);
    });
}

/** Commands without options of their own. */
const SLOT_COMMANDS = [
  {
    name: 'expire-blockhashes',
    method: 'localnet_expireBlockhashes',
    summary: 'expire all blockhashes',
    description: 'Expire all blockhashes: signed transactions that have not landed never will.',
    message: 'All blockhashes have expired.',
  },
  {
    name: 'drop-websockets',
    method: 'localnet_dropWebSockets',
    summary: 'disconnect all WebSocket clients',
    description: 'Disconnect all WebSocket clients. They may connect again.',
    message: 'WebSocket clients are disconnected.',
  },
  {
    name: 'pause-slots',
    method: 'localnet_pauseSlots',
    summary: 'stop producing slots',
    description: 'Stop producing slots: nothing new is confirmed until resume-slots.',
    message: 'Slots are paused.',
  },
  {
    name: 'resume-slots',
    method: 'localnet_resumeSlots',
    summary: 'continue after pause-slots',
    description: 'Continue to produce slots after pause-slots.',
    message: 'Slots continue.',
  },
] as const;

function addSlotCommands(localnet: Command, context: Context): void {
  for (const { name, method, summary, description, message } of SLOT_COMMANDS) {
    const command = localnet.command(name).summary(summary).description(description);
    addLocalRpcUrlOption(command)
      .addHelpText('after', `\nExample:\n  flywheel localnet ${name}`)
      .action(async (options: RpcUrlOption) => {
        const reached = await control(await localRpcUrl(context, options), method, {});
        context.output.result({ reached }, `${message} The cluster is at ${JSON.stringify(reached)}.`);
      });
  }
}
