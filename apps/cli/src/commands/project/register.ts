import { ApprovalMode, type ProofType, type RegisteredProject } from '@flywheel/api';
import { type Command, Option } from 'commander';
import { type Context, openConsole, type UrlOption } from '../../context.ts';
import { readWallet } from '../../files.ts';
import { addProofType } from '../../proof-type.ts';
import { parseScopes } from '../../scopes.ts';

interface RegisterOptions extends UrlOption {
  readonly wallet: string;
  readonly mint: string;
  readonly burnLimit: string;
  readonly airdropLimit: string;
  readonly scopes: ReturnType<typeof parseScopes>;
  readonly proofType: ProofType[];
  readonly approval?: ApprovalMode;
}

/** `flywheel register`: the wallet signs in, pays for the multisig, and gets the project’s first key. */
export function addRegisterCommand(program: Command, context: Context): void {
  program
    .command('register')
    .summary('create a token’s multisig, vault and API key')
    .description(
      'Register a project. The wallet signs in, then signs and pays for the transaction that creates the multisig; from then on it approves the project’s batches. The API key is shown this once.',
    )
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--mint <address>', 'the token')
    .requiredOption('--burn-limit <tokens>', 'whole tokens that may be burned per UTC day')
    .requiredOption('--airdrop-limit <tokens>', 'whole tokens that may be airdropped per UTC day')
    .requiredOption('--scopes <list>', 'burn, airdrop, or both joined by a comma', parseScopes)
    .option('--proof-type <type[:description]>', 'allow this pipeline type only; repeat for more', addProofType, [])
    .addOption(
      new Option(
        '--approval <mode>',
        'automatic: the company approves what passes every rule, the default; manual: a person of the company approves each batch',
      ).choices(ApprovalMode.options),
    )
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel register --wallet wallet.json --mint 7Fq2… --burn-limit 1000 --airdrop-limit 5000 \\\n    --scopes burn,airdrop --proof-type "WATCH_AD:A rewarded video, watched to its end"',
    )
    .action(async (options: RegisterOptions) => {
      const { output } = context;
      const wallet = await readWallet(options.wallet);
      const console = openConsole(context, options);
      await console.signIn(wallet);
      const { project, registration } = await console.register(wallet, {
        mint: options.mint,
        burnLimit: options.burnLimit,
        airdropLimit: options.airdropLimit,
        scopes: options.scopes,
        proofTypes: options.proofType,
        ...(options.approval === undefined ? {} : { approvalMode: options.approval }),
      });
      for (const warning of registration.warnings) output.note(`Note: ${warning}`);
      output.result(project, describeProject(project, options.wallet));
    });
}

function describeProject(project: RegisteredProject, walletFile: string): string {
  return [
    `Registered. Project ${project.projectId}`,
    `  token     ${project.mintAddress}`,
    `  multisig  ${project.multisig}`,
    `  vault     ${project.vaultAddress}`,
    '',
    'Your API key, shown this once; if it is lost, make another with flywheel keys create:',
    `  export FLYWHEEL_API_KEY=${project.apiKey}`,
    '',
    'Next: deposit tokens, and SOL for new token accounts, to the vault; then',
    `  flywheel run examples/rewards.json --wallet ${walletFile}`,
  ].join('\n');
}
