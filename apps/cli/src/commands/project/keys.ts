import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { CONSOLE_OPERATIONS, type KeySummary } from '@flywheel/api';
import type { Command } from 'commander';
import { confirmEffect } from '../../confirm.ts';
import { type Context, programName, urlHint } from '../../context.ts';
import { layOutTable, shellWord } from '../../format.ts';
import { addOverlapOption, NEVER, type OverlapOption, overlapField, parseExpiry, parseScopes } from '../../options.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface CreateOptions extends ProjectOptions {
  readonly expires?: string;
  readonly scopes?: ReturnType<typeof parseScopes>;
  readonly name?: string;
}

interface RotateOptions extends ProjectOptions, OverlapOption {
  readonly key: string;
  readonly expires?: string;
  readonly name?: string;
}

interface RevokeOptions extends ProjectOptions {
  readonly key: string;
  readonly yes?: boolean;
}

const EXPIRY_FORMS = `a day or a time, in UTC, such as 2027-01-31 or 2027-01-31T12:00:00Z, or ${NEVER}`;

/** `flywheel keys list`, `create`, `rotate` and `revoke` */
export function addKeysCommands(program: Command, context: Context): void {
  const keys = program
    .command('keys')
    .summary('list, create, rotate and revoke API keys')
    .description('Manage the API keys of a project.');
  addList(keys, context);
  addCreate(keys, context);
  addRotate(keys, context);
  addRevoke(keys, context);
}

function addList(keys: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(keys.command('list'))
    .summary('list API keys')
    .description(
      'List the API keys of a project, newest first, with last use and expiry: all that work, and the last 100 that have ended.',
    )
    .addHelpText('after', '\nExample:\n  flywheel keys list --wallet wallet.json --project 0198a3c2-…')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const { keys: listed } = await console.call(CONSOLE_OPERATIONS.listKeys, { params: { projectId } });
      output.result({ keys: listed }, describeKeys(listed, output.stdout));
    });
}

function addCreate(keys: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(keys.command('create'))
    .summary('create an API key, shown only once')
    .description('Create an API key. It is shown only once: the service stores its hash.')
    .option('--scopes <list>', 'burn, airdrop or burn,airdrop; default: the project’s scopes', parseScopes)
    .option('--name <name>', 'name of the key')
    .option('--expires <date>', `when the key expires: ${EXPIRY_FORMS}; default: never`, parseExpiry)
    .addHelpText('after', '\nExample:\n  flywheel keys create --wallet wallet.json --project 0198a3c2-… --scopes burn')
    .action(async ({ scopes, name, expires, ...options }: CreateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const created = await console.callOnce(CONSOLE_OPERATIONS.createKey, {
        params: { projectId },
        body: {
          ...(scopes === undefined ? {} : { scopes }),
          ...(name === undefined ? {} : { name }),
          ...expiryField(expires),
        },
      });
      const revoke = `${programName(context)} keys revoke --wallet ${shellWord(options.wallet)} --project ${projectId} --key ${created.keyId}${urlHint(options)}`;
      output.result(created, `${describeNewKey(created)}\nTo revoke it:\n  ${revoke}`);
    });
}

function addRotate(keys: Command, context: Context): void {
  const { output } = context;
  const command = addProjectOptions(keys.command('rotate'))
    .summary('replace an API key; both work for a while')
    .description('Replace an API key by a new one with the same scopes and expiry. Both work until the overlap ends.')
    .requiredOption('--key <id>', 'id of the key to replace, as in flywheel keys list');
  addOverlapOption(command, 'the old key keeps working')
    .option('--name <name>', 'name of the new key; default: the old key’s name')
    .option(
      '--expires <date>',
      `when the new key expires: ${EXPIRY_FORMS}; default: when the old key would`,
      parseExpiry,
    )
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys rotate --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-… --overlap-hours 2',
    )
    .action(async ({ key: keyId, overlapHours, name, expires, ...options }: RotateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const { keys: listed } = await console.call(CONSOLE_OPERATIONS.listKeys, { params: { projectId } });
      const old = listed.find((key) => key.keyId === keyId);
      const rotated = await console.callOnce(CONSOLE_OPERATIONS.rotateKey, {
        params: { projectId, keyId },
        body: {
          ...overlapField({ overlapHours }),
          ...(name === undefined ? {} : { name }),
          ...expiryField(expires ?? old?.expiresAt),
        },
      });
      const end =
        overlapHours === 0 ? 'The old key stopped working.' : `The old key works until ${rotated.replacedExpiresAt}.`;
      output.result(rotated, `${describeNewKey(rotated)}\n${end}`);
    });
}

function addRevoke(keys: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(keys.command('revoke'))
    .summary('revoke an API key at once')
    .description(
      'Revoke an API key. It stops working at once, and its open batches that the wallet has not approved are cancelled; this cannot be undone.',
    )
    .requiredOption('--key <id>', 'id of the key, as in flywheel keys list')
    .option('--yes', 'revoke without asking')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys revoke --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-…',
    )
    .action(async ({ key: keyId, yes, ...options }: RevokeOptions) => {
      const effect = `Key ${keyId} stops working at once, and its open batches that the wallet has not approved are cancelled; this cannot be undone.`;
      await confirmEffect(context, effect, { question: 'Revoke it?', yes });
      const { console, projectId } = await signIn(context, options);
      const revoked = await console.call(CONSOLE_OPERATIONS.revokeKey, { params: { projectId, keyId } });
      const { cancelledBatches } = revoked;
      const cancelled =
        cancelledBatches === 0 ? '' : `\n${cancelledBatches} of its batches, not approved yet, cancelled.`;
      output.result(revoked, `Key ${revoked.keyId} revoked at ${revoked.revokedAt}.${cancelled}`);
    });
}

/** The field of a request that creates a key; absent for a key that never expires. */
function expiryField(expires: string | undefined): { readonly expiresAt?: string } {
  return expires === undefined || expires === NEVER ? {} : { expiresAt: expires };
}

function describeNewKey({ keyId, apiKey }: { readonly keyId: string; readonly apiKey: string }): string {
  return `Key ${keyId}, shown only once:\n  export FLYWHEEL_API_KEY=${apiKey}`;
}

const HEADINGS = ['KEY', 'PREFIX', 'NAME', 'SCOPES', 'STATE', 'LAST USED', 'EXPIRES'] as const;

/** A line per key; keys that no longer work are dimmed. */
function describeKeys(keys: readonly KeySummary[], stream: Writable): string {
  if (keys.length === 0) return 'The project has no API keys. Create one with flywheel keys create.';
  const { heading, lines } = layOutTable(HEADINGS, keys.map(cellsOf), stream);
  const hasEnded = ({ state }: KeySummary) => state === 'revoked' || state === 'expired';
  return [
    heading,
    ...keys.map((key, i) => (hasEnded(key) ? styleText('dim', lines[i] ?? '', { stream }) : (lines[i] ?? ''))),
  ].join('\n');
}

function cellsOf({ keyId, prefix, name = '', scopes, state, lastUsedAt = 'never', ...key }: KeySummary): string[] {
  return [keyId, prefix, name, scopes.join(','), state, lastUsedAt, key.revokedAt ?? key.expiresAt ?? 'never'];
}
