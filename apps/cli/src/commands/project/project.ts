import type { Writable } from 'node:stream';
import { isDeepStrictEqual, styleText } from 'node:util';
import {
  CONSOLE_OPERATIONS,
  PROOF_TYPE,
  type ProjectOverview,
  type ProjectSettings,
  type ProofType,
} from '@flywheel/api';
import { groupDigits, pluralize } from '@flywheel/protocol';
import type { Command } from 'commander';
import { type Context, type RpcUrlOption, trustedRpcUrl } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readJsonObject } from '../../files.ts';
import { formatSol, layOutPairs } from '../../format.ts';
import { addProofType, addRpcUrlOption, addVaultTrustOption, parseTokens, splitOnce } from '../../options.ts';
import { openPins, type TrustOption } from '../../pins.ts';
import { addReportCommands } from './reports.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';
import { addTrySchemaCommand } from './try-schema.ts';

interface ShowOptions extends ProjectOptions, RpcUrlOption, TrustOption {}

interface LimitsOptions extends ProjectOptions {
  readonly burn?: string;
  readonly airdrop?: string;
}

interface ProofTypesOptions extends ProjectOptions {
  readonly add: readonly ProofType[];
  readonly remove: readonly string[];
  readonly any?: boolean;
  readonly schema: readonly string[];
}

/** `flywheel project show`, `limits` and `proof-types` */
export function addProjectCommands(program: Command, context: Context): void {
  const project = program
    .command('project')
    .summary('show a project; change its limits and proof types')
    .description('Show and change a project of your wallet.');
  addShow(project, context);
  addLimits(project, context);
  addProofTypes(project, context);
  addTrySchemaCommand(project, context);
  addReportCommands(project, context);
}

function addShow(project: Command, context: Context): void {
  const { output } = context;
  addRpcUrlOption(addVaultTrustOption(addProjectOptions(project.command('show'))))
    .summary('show vault, limits and what needs attention')
    .description(
      'Show the vault’s balance and what it lacks, the rest of today’s limits, and what needs attention. The vault is compared with what this computer knows of it.',
    )
    .addHelpText('after', '\nExample:\n  flywheel project show --wallet wallet.json')
    .action(async (options: ShowOptions) => {
      const { console, projectId } = await signIn(context, options);
      const overview = await console.call(CONSOLE_OPERATIONS.getProject, { params: { projectId } });
      await compareVault(context, options, overview);
      output.result(overview, describeProject(overview, output.stdout));
    });
}

/**
 * Compares a vault that people will deposit to with what this computer knows of the wallet's multisigs. It notes what nothing
 * was compared with.
 * @throws CliError `ERR_PIN` for another vault, FlywheelError `ERR_CHAIN_MISMATCH` for another multisig than the wallet has signed.
 */
async function compareVault(
  context: Context,
  options: ShowOptions,
  { wallet, vaultAddress, token: { mint } }: ProjectOverview,
): Promise<void> {
  const { output } = context;
  try {
    const pins = await openPins(context, options, await trustedRpcUrl(context, options));
    const pin = await pins.findMultisig(wallet, { vaultAddress, mintAddress: mint }, options.trust ?? []);
    if (pin !== null) return;
    output.note(
      `Note: first use of this vault on this computer: only the service names ${vaultAddress} and the mint ${mint}. Compare both with what you noted at the registration before you deposit.`,
    );
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'ERR_CLUSTER') throw error;
    output.note(
      `Note: the vault ${vaultAddress} was not compared with what this computer knows: no Solana node of your choice has answered. Set SOLANA_RPC_URL or --rpc-url before you deposit.`,
    );
  }
}

function addLimits(project: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(project.command('limits'))
    .summary('show or change the daily limits')
    .description('Show the daily limits, or change them. New limits apply to new batches.')
    .option('--burn <tokens>', 'daily burn limit in whole tokens (UTC days)', parseTokens)
    .option('--airdrop <tokens>', 'daily airdrop limit in whole tokens (UTC days)', parseTokens)
    .addHelpText('after', '\nExample:\n  flywheel project limits --wallet wallet.json --airdrop 5000')
    .action(async ({ burn, airdrop, ...options }: LimitsOptions) => {
      const { console, projectId } = await signIn(context, options);
      const params = { projectId };
      const before = await console.call(CONSOLE_OPERATIONS.getSettings, { params });
      if (burn === undefined && airdrop === undefined) {
        output.result(before, describeSettings(before, null, output.stdout));
        return;
      }
      const from = { burnLimit: before.burnLimit, airdropLimit: before.airdropLimit };
      const body = { burnLimit: burn ?? from.burnLimit, airdropLimit: airdrop ?? from.airdropLimit, from };
      const settings = await console.call(CONSOLE_OPERATIONS.changeLimits, { params, body });
      output.result(settings, describeSettings(settings, before, output.stdout));
    });
}

function addProofTypes(project: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(project.command('proof-types'))
    .summary('show or change the allowed pipeline types')
    .description('Show the allowed pipeline types, or change them. Changes apply to new batches.')
    .option('--add <type[:description]>', 'allow a type or change its description; repeat for more', addProofType, [])
    .option('--remove <type>', 'remove a type from the list; repeat for more', addWord, [])
    .option('--schema <type=file>', 'JSON Schema of a type’s payloads; repeat for more', addWord, [])
    .option('--any', 'allow all types: empty the list')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel project proof-types --wallet wallet.json --add "REFERRAL:Invited a friend" --remove LOTTERY',
    )
    .action(async ({ add, remove, schema, any = false, ...options }: ProofTypesOptions) => {
      const isChange = add.length > 0 || remove.length > 0 || schema.length > 0;
      if (any && isChange) {
        throw new CliError(
          'ERR_USAGE',
          '--any empties the list; it cannot be combined with --add, --remove or --schema.',
        );
      }
      const added = await withSchemas(add, schema);
      const { console, projectId } = await signIn(context, options);
      const params = { projectId };
      const before = await console.call(CONSOLE_OPERATIONS.getSettings, { params });
      if (!any && !isChange) {
        output.result(before, describeSettings(before, null, output.stdout));
        return;
      }
      const from = before.proofTypes;
      const body = { proofTypes: any ? [] : changeTypes(from, added, remove), from };
      const settings = await console.call(CONSOLE_OPERATIONS.changeProofTypes, { params, body });
      output.result(settings, describeSettings(settings, before, output.stdout));
    });
}

function addWord(word: string, previous: readonly string[]): readonly string[] {
  return [...previous, word];
}

/** Adds the schemas of `TYPE=FILE` to the types that are added; a type that is not among them is changed. */
async function withSchemas(add: readonly ProofType[], named: readonly string[]): Promise<readonly ProofType[]> {
  const types = new Map(add.map((each) => [each.type, each]));
  for (const word of named) {
    const [type, file] = splitOnce(word, '=');
    if (!PROOF_TYPE.test(type) || !file) throw new CliError('ERR_USAGE', `${word} is not TYPE=FILE.`);
    types.set(type, { ...types.get(type), type, payloadSchema: await readJsonObject(file, 'a JSON Schema') });
  }
  return [...types.values()];
}

function changeTypes(before: readonly ProofType[], add: readonly ProofType[], remove: readonly string[]): ProofType[] {
  const missing = remove.find((type) => !before.some((allowed) => allowed.type === type));
  if (missing !== undefined) {
    const allowed = before.map(({ type }) => type).join(', ') || 'all types, because it is empty';
    throw new CliError('ERR_USAGE', `${missing} is not in the list of allowed types. The list allows: ${allowed}.`);
  }
  const kept = before.filter(({ type }) => !remove.includes(type));
  const described = kept.map((allowed) => ({ ...allowed, ...add.find(({ type }) => type === allowed.type) }));
  const added = add.filter(({ type }) => !kept.some((allowed) => allowed.type === type));
  const types = [...described, ...added];
  if (types.length > 0) return types;
  // An empty list allows every type: the opposite of what removing the last one suggests.
  throw new CliError('ERR_USAGE', 'Removing the last type would allow all types. To do that, pass --any.');
}

function describeProject(project: ProjectOverview, stream: Writable): string {
  const { token, multisig, limits, batches, funds } = project;
  const ended = `${batches.EXECUTED} executed, ${batches.FAILED} failed`;
  const lines = layOutPairs(
    [
      ['token', `${token.mint}${token.symbol === undefined ? '' : `, symbol ${token.symbol} (not verified)`}`],
      ['multisig', multisig.address],
      ['vault', project.vaultAddress],
      ['holds', funds === null ? 'unknown: the cluster does not answer' : describeFunds(funds)],
      ['burn', describeUse(limits.burn)],
      ['airdrop', describeUse(limits.airdrop)],
      ['batches', `${project.openBatches} open, ${ended}`],
      ['approval', project.approvalMode],
      ['scopes', project.scopes.join(', ')],
    ],
    stream,
  );
  const attention = project.attention.map(({ message }) => `${styleText('yellow', '!', { stream })} ${message}`);
  return [`Project ${project.id}`, ...lines, ...attention].join('\n');
}

function describeFunds({ tokens, lamports }: NonNullable<ProjectOverview['funds']>): string {
  const missing = [
    ...(Number(tokens.missing) > 0 ? [`${groupDigits(tokens.missing)} tokens`] : []),
    ...(lamports.missing === '0' ? [] : [formatSol(lamports.missing)]),
  ];
  const held = `${groupDigits(tokens.available)} tokens, ${formatSol(lamports.available)}`;
  return missing.length === 0 ? held : `${held}; open batches need ${missing.join(' and ')} more`;
}

function describeUse({ cap, used, left, resetsAt }: ProjectOverview['limits']['burn']): string {
  return `${groupDigits(used)} of ${groupDigits(cap)} tokens used today, ${groupDigits(left)} left until ${resetsAt}`;
}

/** @param before the settings before a change; null if nothing was changed. */
function describeSettings(settings: ProjectSettings, before: ProjectSettings | null, stream: Writable): string {
  const was = (name: 'burnLimit' | 'airdropLimit') =>
    before === null || before[name] === settings[name] ? '' : ` (was ${groupDigits(before[name])})`;
  const pairs = layOutPairs(
    [
      ['burn', `${groupDigits(settings.burnLimit)} tokens per UTC day${was('burnLimit')}`],
      ['airdrop', `${groupDigits(settings.airdropLimit)} tokens per UTC day${was('airdropLimit')}`],
      ['types', describeTypes(settings, before)],
    ],
    stream,
  );
  const types = settings.proofTypes.map(
    ({ type, description }) => `    ${type}${description === undefined ? '' : `  ${description}`}`,
  );
  const changed = isDeepStrictEqual(before, settings) ? 'Nothing to change.' : 'Changed. Applies to new batches.';
  return [...(before === null ? [] : [changed]), ...pairs, ...types].join('\n');
}

/** An empty list allows every type: the first type of a list refuses all others. */
function describeTypes({ proofTypes }: ProjectSettings, before: ProjectSettings | null): string {
  if (proofTypes.length === 0) return 'all';
  const only = before !== null && before.proofTypes.length === 0 ? ' and no other (was all)' : '';
  return `${pluralize(proofTypes.length, 'type')}${only}`;
}
