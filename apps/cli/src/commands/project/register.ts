import { ApprovalMode, type ProofType, type RegisteredProject } from '@flywheel/api';
import { type Command, Option } from 'commander';
import { type Context, openConsole, programName, type UrlOption } from '../../context.ts';
import { readWallet } from '../../files.ts';
import { addProofType, addUrlOption, addWalletOption, parseScopes } from '../../options.ts';

interface RegisterOptions extends UrlOption {
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
      'Register a project. The wallet signs in, then signs and pays for the transaction that creates the multisig; from then on it approves the project’s batches. The API key is shown only once.',
    )
    .requiredOption('--mint <address>', 'the project’s token')
    .requiredOption('--burn-limit <tokens>', 'daily burn limit in whole tokens (UTC days)')
    .requiredOption('--airdrop-limit <tokens>', 'daily airdrop limit in whole tokens (UTC days)')
    .requiredOption('--scopes <list>', 'scopes of the key: burn, airdrop or burn,airdrop', parseScopes)
    .option('--proof-type <type[:description]>', 'allow only this pipeline type; repeat for more', addProofType, [])
    .addOption(
      new Option(
        '--approval <mode>',
        'company approval. automatic (default): a batch that passes all rules is approved; manual: a person decides',
      ).choices(ApprovalMode.options),
    );
  addUrlOption(command)
    .addHelpText(
      'after',
      '\nExample:\n  flywheel register --wallet wallet.json --mint 7Fq2… --burn-limit 1000 --airdrop-limit 5000 \\\n    --scopes burn,airdrop --proof-type "WATCH_AD:Watched a rewarded video to its end"',
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
      output.result(project, describeRegistered(project, `${programName(context)} run`, options.wallet));
    });
}

function describeRegistered(project: RegisteredProject, runCommand: string, walletFile: string): string {
  return [
    `Registered project ${project.projectId}`,
    `  token     ${project.mintAddress}`,
    `  multisig  ${project.multisig}`,
    `  vault     ${project.vaultAddress}`,
    '',
    'API key, shown only once:',
    `  export FLYWHEEL_API_KEY=${project.apiKey}`,
    '',
    'Next: deposit tokens, and SOL for new token accounts, into the vault. Then:',
    `  ${runCommand} examples/rewards.json --wallet ${walletFile}`,
  ].join('\n');
}
