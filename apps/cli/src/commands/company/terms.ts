import { ApprovalMode, COMPANY_OPERATIONS, CONSOLE_OPERATIONS, type CompanyTerms } from '@flywheel/api';
import {
  address,
  type CompanyTerms as BaseUnitTerms,
  describeTerms,
  type TermsDecision,
  toBaseUnitTerms,
} from '@flywheel/protocol';
import { readMint } from '@flywheel/sdk';
import { type Command, Option } from 'commander';
import { confirmSigning } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { parseTokens } from '../../options.ts';
import { addDecisionOptions, type OperatorOptions, openOperator, signDecision } from './decide.ts';

interface TermsOptions extends OperatorOptions {
  readonly approval?: CompanyTerms['approvalMode'];
  readonly burn?: string;
  readonly airdrop?: string;
  readonly yes?: boolean;
}

/** `flywheel company terms PROJECT_ID` */
export function addTermsCommand(company: Command, context: Context): void {
  addDecisionOptions(company.command('terms'))
    .summary('show or change what the company approves by itself')
    .description(
      'Show what the company approves of a project by itself, or show a change with the token on chain and sign it. It applies to every later execution; batches that wait for an operator still wait.',
    )
    .argument('<project-id>', 'id of the project: flywheel company projects')
    .addOption(
      new Option('--approval <mode>', 'automatic, or manual: a person approves each batch').choices(
        ApprovalMode.options,
      ),
    )
    .option('--burn <tokens>', 'whole tokens burned per UTC day without approval by a person', parseTokens)
    .option('--airdrop <tokens>', 'whole tokens airdropped per UTC day without approval by a person', parseTokens)
    .option('--yes', 'sign without asking')
    .addHelpText('after', '\nExample:\n  flywheel company terms 0198a3c2-… --airdrop 5000 --wallet operator.json')
    .action((projectId: string, options: TermsOptions) => changeTerms(context, projectId, options));
}

async function changeTerms(context: Context, projectId: string, options: TermsOptions): Promise<void> {
  const { output } = context;
  const { approval, burn, airdrop, yes = false } = options;
  const operator = await openOperator(context, options);
  const { console, rpcUrl } = operator;
  const params = { projectId };
  const { token, multisig } = await console.call(CONSOLE_OPERATIONS.getProject, { params });
  const { companyTerms: from } = await console.call(CONSOLE_OPERATIONS.getSettings, { params });
  const named = { mint: address(token.mint), decimals: token.decimals };
  const present = parseTerms(from, token.decimals);
  if (approval === undefined && burn === undefined && airdrop === undefined) {
    output.result(from, describeTerms({ token: named, to: present }).join('\n'));
    return;
  }
  await requireDecimals(rpcUrl, named);
  const to = {
    approvalMode: approval ?? from.approvalMode,
    burnLimit: burn ?? from.burnLimit,
    airdropLimit: airdrop ?? from.airdropLimit,
  };
  const subject: TermsDecision = {
    type: 'terms',
    multisig: address(multisig.address),
    token: named,
    from: present,
    to: parseTerms(to, token.decimals),
  };
  const facts = [
    `Change what the company approves by itself for project ${projectId}:`,
    ...describeTerms(subject).map((line) => `  ${line}`),
    `  Multisig: ${subject.multisig}`,
    `  Token: ${token.mint}, ${token.decimals} decimals`,
  ];
  await confirmSigning(context, facts, { question: 'Sign and change?', isConfirmed: yes, option: '--yes' });
  const body = { ...(await signDecision(operator, subject)), from, to };
  const settings = await console.call(COMPANY_OPERATIONS.changeTerms, { params, body });
  const { companyTerms } = settings;
  const isApplied = (['approvalMode', 'burnLimit', 'airdropLimit'] as const).every(
    (each) => companyTerms[each] === to[each],
  );
  output.result(settings, isApplied ? 'Changed.' : `The change is signed.${APPLIED_LATER}`);
}

/** Added to an answer that came before a worker has applied a decision. */
export const APPLIED_LATER = ' A worker applies the decision when one runs.';

/** @throws CliError `ERR_USAGE` for a limit that is not an amount of the token. */
export function parseTerms(terms: CompanyTerms, decimals: number): BaseUnitTerms {
  try {
    return toBaseUnitTerms(terms, decimals);
  } catch (error) {
    if (error instanceof RangeError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw error;
  }
}

/**
 * Reads the project's token at the operator's node.
 * @throws CliError `ERR_CLUSTER` if it has other decimals there than the service says.
 */
export async function requireDecimals(rpcUrl: string, { mint, decimals }: TermsDecision['token']) {
  const onChain = await readMint(rpcUrl, mint);
  if (onChain.decimals === decimals) return onChain;
  const message = `Nothing was signed: on chain the token has ${onChain.decimals} decimals, not ${decimals}.`;
  throw new CliError('ERR_CLUSTER', message);
}
