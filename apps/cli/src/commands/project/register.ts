import {
  ApprovalMode,
  IDENTITY_OPERATIONS,
  type ProofType,
  type RegisteredProject,
  type RegistrationMode,
} from '@flywheel/api';
import { describeFreezeRisk } from '@flywheel/protocol';
import { type RegistrationTerms, readMint } from '@flywheel/sdk';
import { createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport } from '@solana/kit';
import { type Command, Option } from 'commander';
import {
  type Context,
  displayUrl,
  openConsole,
  programName,
  type RpcUrlOption,
  trustedRpcUrl,
  type UrlOption,
  urlHint,
} from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';
import { formatSol, shellWord } from '../../format.ts';
import {
  addProofType,
  addRpcUrlOption,
  addTrustOption,
  addUrlOption,
  addWalletOption,
  parseScopes,
  parseTokens,
} from '../../options.ts';
import { openPins } from '../../pins.ts';

interface RegisterOptions extends UrlOption, RpcUrlOption {
  readonly trust: readonly string[];
  readonly wallet: string;
  readonly mint: string;
  readonly burnLimit: string;
  readonly airdropLimit: string;
  readonly scopes: ReturnType<typeof parseScopes>;
  readonly proofType: ProofType[];
  readonly approval?: ApprovalMode;
}

/** `flywheel register`: the wallet signs in, pays for the multisig, and gets the project’s first API key. */
export function addRegisterCommand(program: Command, context: Context): void {
  const command = addWalletOption(program.command('register'))
    .summary('create a project: multisig, vault and API key')
    .description(
      'Register a project. The wallet signs in, then signs and pays for the transaction that creates the multisig; from then on it approves the project’s batches. Before it signs, the command verifies at a Solana node that the transaction does nothing else. The API key is shown only once.',
    )
    .requiredOption('--mint <address>', 'the project’s token')
    .requiredOption('--burn-limit <tokens>', 'daily burn limit in whole tokens (UTC days)', parseTokens)
    .requiredOption('--airdrop-limit <tokens>', 'daily airdrop limit in whole tokens (UTC days)', parseTokens)
    .requiredOption('--scopes <list>', 'scopes of the key: burn, airdrop or burn,airdrop', parseScopes)
    .option('--proof-type <type[:description]>', 'allow only this pipeline type; repeat for more', addProofType, [])
    .addOption(
      new Option(
        '--approval <mode>',
        'company approval. automatic (default): a batch that passes all checks is approved; manual: a person decides',
      ).choices(ApprovalMode.options),
    );
  addRpcUrlOption(addUrlOption(addTrustOption(command, 'a company or operator that this computer does not know')))
    .addHelpText(
      'after',
      '\nExample:\n  flywheel register --wallet wallet.json --mint 7Fq2… --burn-limit 1000 --airdrop-limit 5000 \\\n    --scopes burn,airdrop --proof-type "WATCH_AD:Watched a rewarded video to its end"',
    )
    .action(async (options: RegisterOptions) => {
      const { output } = context;
      const wallet = await readWallet(options.wallet);
      const rpcUrl = await trustedRpcUrl(context, options);
      const console = openConsole(context, options);
      const pins = await openPins(context, options, rpcUrl);
      const expect = pins.expectedOfRegistration(options.trust);
      const { registration: mode } = await console.call(IDENTITY_OPERATIONS.getEnvironment, {});
      await console.signIn(wallet);
      const { project, terms } = await console.register(
        wallet,
        {
          mint: options.mint,
          burnLimit: options.burnLimit,
          airdropLimit: options.airdropLimit,
          scopes: options.scopes,
          proofTypes: options.proofType,
          ...(options.approval === undefined ? {} : { approvalMode: options.approval }),
        },
        {
          rpcUrl,
          ...(expect !== undefined && { expect }),
          onRefused: pins.requireKnownKeys,
          onSigned: pins.keepSigned,
          onVerified: async (verified, { warnings }) => {
            output.note(describeTerms(verified, rpcUrl));
            for (const warning of await readRisks(rpcUrl, options.mint, warnings)) output.note(`Risk: ${warning}`);
            if (mode === 'approval') output.note(NEEDS_ADMISSION);
            await requireBalance(context, rpcUrl, verified);
          },
        },
      );
      for (const news of pins.keepRegistration(terms)) output.note(news);
      const { company, operator, recovery } = terms;
      output.result(
        { ...project, company, operator, ...(recovery !== null && { recovery }) },
        describeRegistered(project, `${programName(context)} run`, options, mode),
      );
    });
}

/** A warning that the wallet's holder reads before the wallet pays. */
const NEEDS_ADMISSION =
  'The company must admit the project before it can create a batch. It may decline: what the registration costs is then lost.';

/** Lists what others can do to the vault: from the wallet holder's own node, and what the service says in addition. */
async function readRisks(rpcUrl: string, mint: string, warnings: readonly string[]): Promise<readonly string[]> {
  const { freezeAuthority } = await readMint(rpcUrl, mint);
  return [...new Set([...(freezeAuthority === null ? [] : [describeFreezeRisk(freezeAuthority)]), ...warnings])];
}

/**
 * Requires that the wallet can pay, so that it does not wait for a transaction that cannot land.
 * @throws CliError `ERR_WALLET`
 */
async function requireBalance(
  context: Context,
  rpcUrl: string,
  { wallet, costLamports }: Pick<RegistrationTerms, 'wallet' | 'costLamports'>,
): Promise<void> {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  let balance: bigint;
  try {
    balance = (await rpc.getBalance(wallet, { commitment: 'confirmed' }).send()).value;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    context.output.note(`Note: the wallet’s balance is not known. ${error.host}: ${error.message}`);
    return;
  }
  if (balance >= costLamports) return;
  throw new CliError(
    'ERR_WALLET',
    `The wallet ${wallet} holds ${formatSol(balance)}; the registration costs ${formatSol(costLamports)}. Send SOL to it: on a local cluster with flywheel localnet fund ${wallet} --sol 1.`,
  );
}

/** The facts that the wallet signs, read from the transaction itself. */
function describeTerms(
  { multisig, company, operator, recovery, costLamports }: RegistrationTerms,
  rpcUrl: string,
): string {
  return [
    `Verified at ${displayUrl(rpcUrl)}: the transaction creates this multisig and its lookup table, and nothing else.`,
    `  multisig  ${multisig}`,
    `  votes     your wallet and the company ${company}; both are needed`,
    `  operator  ${operator}, without a vote`,
    ...(recovery === null
      ? []
      : [`  recovery  ${recovery}, without a vote: proposes and executes if the operator is lost`]),
    `  cost      ${formatSol(costLamports)}, paid by your wallet`,
  ].join('\n');
}

function describeRegistered(
  project: RegisteredProject,
  runCommand: string,
  options: Pick<RegisterOptions, 'wallet' | 'url'>,
  mode: RegistrationMode | undefined,
): string {
  return [
    `Registered project ${project.projectId}`,
    `  token     ${project.mintAddress}`,
    `  multisig  ${project.multisig}`,
    `  vault     ${project.vaultAddress}`,
    '',
    'API key, shown only once:',
    `  export FLYWHEEL_API_KEY=${project.apiKey}`,
    '',
    ...(mode === 'approval' ? [`Ask the company to admit the project: it can create no batch before.`, ''] : []),
    'Next: deposit tokens, and SOL for new token accounts, into the vault. Then:',
    `  ${runCommand} examples/rewards.json --wallet ${shellWord(options.wallet)}${urlHint(options)}`,
  ].join('\n');
}
