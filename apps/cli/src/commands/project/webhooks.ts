import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import {
  CONSOLE_OPERATIONS,
  type CreatedWebhook,
  DeliveryState,
  type Webhook,
  type WebhookDelivery,
  WebhookTopic,
} from '@flywheel/api';
import { type Command, Option } from 'commander';
import { confirmEffect } from '../../confirm.ts';
import { type Context, programName, urlHint } from '../../context.ts';
import { describeNextPage, layOutTable, shellWord } from '../../format.ts';
import { addOverlapOption, type OverlapOption, overlapField, parseHttpUrl, parseWebhookTopics } from '../../options.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface CreateOptions extends ProjectOptions {
  readonly receiver: string;
  readonly events?: WebhookTopic[];
}

interface WebhookOptions extends ProjectOptions {
  readonly webhook: string;
}

interface DeleteOptions extends WebhookOptions {
  readonly yes?: boolean;
}

interface RotateOptions extends WebhookOptions, OverlapOption {}

interface DeliveriesOptions extends WebhookOptions {
  readonly state?: WebhookDelivery['state'];
  readonly cursor?: string;
}

interface DeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  readonly nextCursor?: string | undefined;
}

interface RedeliverOptions extends WebhookOptions {
  readonly delivery: string;
}

/** `flywheel webhooks list`, `create`, `rotate`, `disable`, `enable`, `delete`, `deliveries`, `redeliver` and `test` */
export function addWebhooksCommands(program: Command, context: Context): void {
  const webhooks = program
    .command('webhooks')
    .summary('send a project’s events to your server')
    .description(
      'Manage the webhooks of a project: its events are posted to your server, signed with Standard Webhooks.',
    );
  addList(webhooks, context);
  addCreate(webhooks, context);
  addRotate(webhooks, context);
  addStateCommands(webhooks, context);
  addDelete(webhooks, context);
  addDeliveries(webhooks, context);
  addRedeliver(webhooks, context);
  addTest(webhooks, context);
}

function addList(webhooks: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(webhooks.command('list'))
    .summary('list webhooks')
    .description('List the webhooks of a project, oldest first, with the latest delivery of each.')
    .addHelpText('after', '\nExample:\n  flywheel webhooks list --wallet wallet.json')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const { webhooks: listed } = await console.call(CONSOLE_OPERATIONS.listWebhooks, { params: { projectId } });
      output.result({ webhooks: listed }, describeWebhooks(listed, output.stdout));
    });
}

function addCreate(webhooks: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(webhooks.command('create'))
    .summary('create a webhook; its secret is shown only once')
    .description('Create a webhook. The secret that verifies its deliveries is shown only once.')
    .requiredOption('--receiver <url>', 'URL to post events to; https and a public address', parseHttpUrl)
    .option('--events <list>', `comma-separated: ${WebhookTopic.options.join(', ')}; default: all`, parseWebhookTopics)
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks create --wallet wallet.json --receiver https://shop.example/flywheel --events batch.executed,batch.failed',
    )
    .action(async ({ receiver, events = [...WebhookTopic.options], ...options }: CreateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId }, body: { url: receiver, events } };
      const created = await console.callOnce(CONSOLE_OPERATIONS.createWebhook, request);
      const test = `${programName(context)} webhooks test --wallet ${shellWord(options.wallet)} --project ${projectId} --webhook ${created.webhook.webhookId}${urlHint(options)}`;
      output.result(created, `${describeSecret(created)}\nTo test it:\n  ${test}`);
    });
}

function addRotate(webhooks: Command, context: Context): void {
  const { output } = context;
  const command = addWebhookOption(webhooks.command('rotate'))
    .summary('replace the secret; both sign for a while')
    .description('Replace the secret of a webhook. Deliveries are signed with both secrets until the overlap ends.');
  addOverlapOption(command, 'the old secret keeps signing')
    .addHelpText('after', '\nExample:\n  flywheel webhooks rotate --wallet wallet.json --webhook 0198a3d0-…')
    .action(async ({ webhook: webhookId, overlapHours, ...options }: RotateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId, webhookId }, body: overlapField({ overlapHours }) };
      const rotated = await console.callOnce(CONSOLE_OPERATIONS.rotateWebhookSecret, request);
      const { previousSecretUntil: end } = rotated.webhook;
      const old = end === undefined ? 'The old secret no longer signs.' : `The old secret also signs until ${end}.`;
      output.result(rotated, `${describeSecret(rotated)}\n${old}`);
    });
}

function addStateCommands(webhooks: Command, context: Context): void {
  const { output } = context;
  const commands = [
    {
      name: 'disable',
      state: 'disabled',
      summary: 'stop deliveries to a webhook',
      description: 'Disable a webhook. New events are not queued for it; pending deliveries stay pending.',
    },
    {
      name: 'enable',
      state: 'active',
      summary: 'resume deliveries to a webhook',
      description: 'Enable a webhook. Pending deliveries are sent at once; events while it was disabled are not sent.',
    },
  ] as const;
  for (const { name, state, summary, description } of commands) {
    addWebhookOption(webhooks.command(name))
      .summary(summary)
      .description(description)
      .addHelpText('after', `\nExample:\n  flywheel webhooks ${name} --wallet wallet.json --webhook 0198a3d0-…`)
      .action(async ({ webhook: webhookId, ...options }: WebhookOptions) => {
        const { console, projectId } = await signIn(context, options);
        const request = { params: { projectId, webhookId }, body: { state } };
        const webhook = await console.call(CONSOLE_OPERATIONS.changeWebhook, request);
        output.result(webhook, `Webhook ${webhook.webhookId} is ${webhook.state}.`);
      });
  }
}

function addDelete(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('delete'))
    .summary('delete a webhook and its deliveries')
    .description('Delete a webhook with its secret and all deliveries, including pending ones. This cannot be undone.')
    .option('--yes', 'delete without asking')
    .addHelpText('after', '\nExample:\n  flywheel webhooks delete --wallet wallet.json --webhook 0198a3d0-…')
    .action(async ({ webhook: webhookId, yes, ...options }: DeleteOptions) => {
      const effect = `Webhook ${webhookId} is deleted with its secret and all deliveries, including pending ones; this cannot be undone.`;
      await confirmEffect(context, effect, { question: 'Delete it?', yes });
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId, webhookId } };
      const deleted = await console.callOnce(CONSOLE_OPERATIONS.deleteWebhook, request);
      output.result(deleted, `Webhook ${deleted.webhookId} deleted.`);
    });
}

function addDeliveries(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('deliveries'))
    .summary('list deliveries of a webhook')
    .description('List the deliveries of a webhook, newest first, 50 per page, with the reason of each failure.')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DeliveryState.options))
    .option('--cursor <cursor>', 'next page: the cursor that the previous one shows')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks deliveries --wallet wallet.json --webhook 0198a3d0-… --state failed',
    )
    .action(async ({ webhook: webhookId, state, cursor, ...options }: DeliveriesOptions) => {
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId, webhookId }, query: { state, cursor } };
      const page = await console.call(CONSOLE_OPERATIONS.listWebhookDeliveries, request);
      output.result(page, describeDeliveries(page, output.stdout));
    });
}

function addRedeliver(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('redeliver'))
    .summary('send an event again')
    .description('Send an event again, at once and with the same event id.')
    .requiredOption('--delivery <id>', 'id of the delivery, as in flywheel webhooks deliveries')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks redeliver --wallet wallet.json --webhook 0198a3d0-… --delivery 1042',
    )
    .action(async ({ webhook: webhookId, delivery: deliveryId, ...options }: RedeliverOptions) => {
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId, webhookId, deliveryId }, body: {} };
      const sent = await console.callOnce(CONSOLE_OPERATIONS.redeliverWebhook, request);
      output.result(sent, `Queued ${sent.type} again as ${sent.eventId}.`);
    });
}

function addTest(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('test'))
    .summary('send a test event')
    .description('Send a webhook.test event, the same way as real events.')
    .addHelpText('after', '\nExample:\n  flywheel webhooks test --wallet wallet.json --webhook 0198a3d0-…')
    .action(async ({ webhook: webhookId, ...options }: WebhookOptions) => {
      const { console, projectId } = await signIn(context, options);
      const request = { params: { projectId, webhookId }, body: {} };
      const sent = await console.callOnce(CONSOLE_OPERATIONS.testWebhook, request);
      output.result(sent, `Queued test event ${sent.eventId}. flywheel webhooks deliveries shows the result.`);
    });
}

function addWebhookOption(command: Command): Command {
  return addProjectOptions(command).requiredOption('--webhook <id>', 'id of the webhook, as in flywheel webhooks list');
}

function describeSecret({ webhook, secret }: CreatedWebhook): string {
  return `Webhook ${webhook.webhookId} at ${webhook.url}. Secret, shown only once:\n  export WEBHOOK_SECRET=${secret}`;
}

const WEBHOOK_HEADINGS = ['WEBHOOK', 'STATE', 'LATEST DELIVERY', 'RECEIVER', 'EVENTS'] as const;

/** A line per webhook; disabled ones are dimmed and followed by the reason. */
function describeWebhooks(webhooks: readonly Webhook[], stream: Writable): string {
  if (webhooks.length === 0) return 'The project has no webhooks. Create one with flywheel webhooks create.';
  const { heading, lines } = layOutTable(WEBHOOK_HEADINGS, webhooks.map(webhookCells), stream);
  return [
    heading,
    ...webhooks.flatMap(({ state, disabledReason }, i) => {
      const line = lines[i] ?? '';
      if (state === 'active') return [line];
      return [styleText('dim', line, { stream }), ...(disabledReason === undefined ? [] : [`  ${disabledReason}`])];
    }),
  ].join('\n');
}

function webhookCells({ webhookId, state, url, events, newestDelivery }: Webhook): string[] {
  const latest = newestDelivery === undefined ? 'none yet' : `${newestDelivery.type} ${newestDelivery.state}`;
  return [webhookId, state, latest, url, events.join(',')];
}

const DELIVERY_HEADINGS = ['DELIVERY', 'STATE', 'ATTEMPTS', 'STATUS', 'EVENT', 'ID', 'QUEUED'] as const;

/** A line per delivery, followed by its error if it has one. */
function describeDeliveries({ deliveries, nextCursor }: DeliveryPage, stream: Writable): string {
  if (deliveries.length === 0) return 'No deliveries found. flywheel webhooks test sends one.';
  const { heading, lines } = layOutTable(DELIVERY_HEADINGS, deliveries.map(deliveryCells), stream);
  return [
    heading,
    ...deliveries.flatMap(({ error, nextAttemptAt }, i) => [
      lines[i] ?? '',
      ...(error === undefined
        ? []
        : [`  ${error}${nextAttemptAt === undefined ? '' : ` Next attempt at ${nextAttemptAt}.`}`]),
    ]),
    ...describeNextPage(nextCursor),
  ].join('\n');
}

function deliveryCells({ deliveryId, state, attempts, status, type, eventId, dateCreated }: WebhookDelivery): string[] {
  return [deliveryId, state, String(attempts), status === undefined ? '' : String(status), type, eventId, dateCreated];
}
