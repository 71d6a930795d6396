import { type CreatedWebhook, DeliveryState, type WebhookDelivery, WebhookTopic } from '@flywheel/api';
import { type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { parseWholeNumber } from '../../options.ts';
import { parseWebhookTopics } from '../../webhook-topics.ts';
import { describeDeliveries, describeWebhooks } from './describe-webhooks.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface CreateOptions extends ProjectOptions {
  readonly receiver: string;
  readonly events?: WebhookTopic[];
}

interface WebhookOptions extends ProjectOptions {
  readonly webhook: string;
}

interface RotateOptions extends WebhookOptions {
  readonly overlapHours?: number;
}

interface DeliveriesOptions extends WebhookOptions {
  readonly state?: WebhookDelivery['state'];
  readonly cursor?: string;
}

interface RedeliverOptions extends WebhookOptions {
  readonly delivery: string;
}

const SECONDS_PER_HOUR = 3_600;
/** Thirty days, the most that the service takes. */
const MAX_OVERLAP_HOURS = 720;

/** `flywheel webhooks list`, `create`, `rotate`, `disable`, `enable`, `delete`, `deliveries`, `redeliver` and `test` */
export function addWebhooksCommands(program: Command, context: Context): void {
  const webhooks = program
    .command('webhooks')
    .summary('have a project’s events sent to you, and see how that fares')
    .description('Webhooks of a project: where what becomes of its batches is sent, signed as Standard Webhooks says.');
  addList(webhooks, context);
  addCreate(webhooks, context);
  addRotate(webhooks, context);
  addSetState(webhooks, context);
  addDelete(webhooks, context);
  addDeliveries(webhooks, context);
  addRedeliver(webhooks, context);
  addTest(webhooks, context);
}

function addList(webhooks: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(webhooks.command('list'))
    .summary('list them, with how the newest delivery fares')
    .description('List the webhooks of a project, oldest first, with how the newest delivery of each fares.')
    .addHelpText('after', '\nExample:\n  flywheel webhooks list --wallet wallet.json')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const listed = await console.webhooks.list(projectId);
      output.result({ webhooks: listed }, describeWebhooks(listed, output.stdout));
    });
}

function addCreate(webhooks: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(webhooks.command('create'))
    .summary('make one; its secret is shown this once')
    .description('Create a webhook. Its secret, which deliveries are verified with, is shown this once.')
    .requiredOption('--receiver <url>', 'where events are posted to; https, at a public address')
    .option(
      '--events <list>',
      `joined by commas, of ${WebhookTopic.options.join(', ')}; all by default`,
      parseWebhookTopics,
    )
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks create --wallet wallet.json --receiver https://shop.example/flywheel --events batch.executed,batch.failed',
    )
    .action(async ({ receiver, events = [...WebhookTopic.options], ...options }: CreateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const created = await console.webhooks.create(projectId, { url: receiver, events });
      const test = `flywheel webhooks test --wallet ${options.wallet} --project ${projectId} --webhook ${created.webhook.webhookId}`;
      output.result(created, `${sayCreated(created)}\nTo try it: ${test}`);
    });
}

function addRotate(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('rotate'))
    .summary('replace a secret, both signing for a while')
    .description('Replace the secret of a webhook. Deliveries are signed with both until the overlap is over.')
    .option(
      '--overlap-hours <hours>',
      'how long the old secret goes on signing, 0 to end it at once; 24 by default',
      parseWholeNumber(0, MAX_OVERLAP_HOURS),
    )
    .addHelpText('after', '\nExample:\n  flywheel webhooks rotate --wallet wallet.json --webhook 0198a3d0-…')
    .action(async ({ overlapHours, ...options }: RotateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const body = overlapHours === undefined ? {} : { overlapSeconds: overlapHours * SECONDS_PER_HOUR };
      const rotated = await console.webhooks.rotate(projectId, options.webhook, body);
      const { previousSecretUntil: end } = rotated.webhook;
      const old = end === undefined ? 'The old secret signs no more.' : `The old secret signs too until ${end}.`;
      output.result(rotated, `${sayCreated(rotated)}\n${old}`);
    });
}

function addSetState(webhooks: Command, context: Context): void {
  const { output } = context;
  const kinds = [
    {
      name: 'disable',
      state: 'disabled',
      summary: 'send nothing more to one',
      description: 'Disable a webhook: nothing new is queued for it, and what waits goes on waiting.',
      said: 'is disabled',
    },
    {
      name: 'enable',
      state: 'active',
      summary: 'send to one again',
      description: 'Enable a webhook: what has waited goes out at once. What happened meanwhile is not sent.',
      said: 'is active',
    },
  ] as const;
  for (const { name, state, summary, description, said } of kinds) {
    addWebhookOption(webhooks.command(name))
      .summary(summary)
      .description(description)
      .addHelpText('after', `\nExample:\n  flywheel webhooks ${name} --wallet wallet.json --webhook 0198a3d0-…`)
      .action(async (options: WebhookOptions) => {
        const { console, projectId } = await signIn(context, options);
        const webhook = await console.webhooks.setState(projectId, options.webhook, state);
        output.result(webhook, `Webhook ${webhook.webhookId} ${said}.`);
      });
  }
}

function addDelete(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('delete'))
    .summary('delete one with its deliveries')
    .description('Delete a webhook, its deliveries, those that wait included, and its secret. For good.')
    .addHelpText('after', '\nExample:\n  flywheel webhooks delete --wallet wallet.json --webhook 0198a3d0-…')
    .action(async (options: WebhookOptions) => {
      const { console, projectId } = await signIn(context, options);
      const deleted = await console.webhooks.remove(projectId, options.webhook);
      output.result(deleted, `Webhook ${deleted.webhookId} is deleted.`);
    });
}

function addDeliveries(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('deliveries'))
    .summary('what was sent to one, and how that fared')
    .description('List the deliveries of a webhook, newest first, 50 at a time, with why each is not delivered.')
    .addOption(new Option('--state <state>', 'only those of this state').choices(DeliveryState.options))
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks deliveries --wallet wallet.json --webhook 0198a3d0-… --state failed',
    )
    .action(async ({ state, cursor, ...options }: DeliveriesOptions) => {
      const { console, projectId } = await signIn(context, options);
      const page = await console.webhooks.listDeliveries(projectId, options.webhook, { state, cursor });
      const hasMore = page.nextCursor !== undefined;
      output.result(page, describeDeliveries(page.deliveries, hasMore, output.stdout));
    });
}

function addRedeliver(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('redeliver'))
    .summary('send an event again')
    .description('Send an event again, at once and under the id that it has.')
    .requiredOption('--delivery <id>', 'as flywheel webhooks deliveries shows it')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel webhooks redeliver --wallet wallet.json --webhook 0198a3d0-… --delivery 1042',
    )
    .action(async ({ delivery, ...options }: RedeliverOptions) => {
      const { console, projectId } = await signIn(context, options);
      const sent = await console.webhooks.redeliver(projectId, options.webhook, delivery);
      output.result(sent, `${sent.type} is on its way again as ${sent.eventId}.`);
    });
}

function addTest(webhooks: Command, context: Context): void {
  const { output } = context;
  addWebhookOption(webhooks.command('test'))
    .summary('send a test event')
    .description('Send a webhook.test, as every event is sent.')
    .addHelpText('after', '\nExample:\n  flywheel webhooks test --wallet wallet.json --webhook 0198a3d0-…')
    .action(async (options: WebhookOptions) => {
      const { console, projectId } = await signIn(context, options);
      const sent = await console.webhooks.sendTest(projectId, options.webhook);
      output.result(sent, `On its way as ${sent.eventId}; flywheel webhooks deliveries says how it fares.`);
    });
}

function addWebhookOption(command: Command): Command {
  return addProjectOptions(command).requiredOption('--webhook <id>', 'as flywheel webhooks list shows it');
}

function sayCreated({ webhook, secret }: CreatedWebhook): string {
  return `Webhook ${webhook.webhookId} at ${webhook.url}; its secret, shown this once:\n  export WEBHOOK_SECRET=${secret}`;
}
