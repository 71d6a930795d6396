import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type ChangeWebhookRequest,
  type CreatedWebhook,
  type CreateWebhookRequest,
  type RotateWebhookRequest,
  type Webhook,
  type WebhookTopic,
} from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import { requireOwnProject, requireVisibleProject } from '../projects/access.ts';
import { recordChange } from '../projects/record-change.ts';
import { insertAuditEntry } from '../store/audit.ts';
import type { Db } from '../store/db.ts';
import { lockProject } from '../store/projects/projects.ts';
import { makeWaitingDue } from '../store/webhooks/deliveries.ts';
import {
  countEndpoints,
  deleteEndpoint,
  type Endpoint,
  findEndpoints,
  insertEndpoint,
  lockEndpoint,
  type NewestDelivery,
  updateEndpoint,
} from '../store/webhooks/endpoints.ts';
import { findUrlIssue, type ReceiverRules } from './receiver-address.ts';
import type { WebhookSecrets } from './secrets.ts';

export interface EndpointDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'now'>;
  /** The wallets that act for the company. */
  readonly companyOperators: ReadonlySet<Address>;
  readonly webhooks: {
    /** null where the service has no key for them. */
    readonly secrets: WebhookSecrets | null;
    readonly rules: ReceiverRules;
  };
}

/** Each is sent every event, over a connection that may hang. */
export const MAX_ENDPOINTS = 10;

/**
 * Lists a project’s endpoints, oldest first.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function listEndpoints(deps: EndpointDeps, wallet: Address, projectId: string): Promise<Webhook[]> {
  await requireVisibleProject(deps, wallet, projectId);
  const now = deps.clock.now();
  return (await findEndpoints(deps.db, projectId)).map(({ newest, ...endpoint }) => ({
    ...presentEndpoint(endpoint, now),
    ...(newest && { newestDelivery: presentNewest(newest) }),
  }));
}

/**
 * Creates an endpoint of a project of this wallet, with its secret.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_INVALID_REQUEST, ERR_TOO_MANY_WEBHOOKS, ERR_WEBHOOKS_UNAVAILABLE;
 * ERR_RATE_LIMITED after too many in 24 hours
 */
export async function createEndpoint(
  deps: EndpointDeps,
  wallet: Address,
  projectId: string,
  { url, events }: CreateWebhookRequest,
): Promise<CreatedWebhook> {
  const { db, clock } = deps;
  await requireOwnProject(deps, wallet, projectId);
  const secrets = requireSecrets(deps);
  requireUrl(deps, url);
  const endpoint: Endpoint = {
    id: randomUUID(),
    projectId,
    url,
    events: inOrder(events),
    secretVersion: 1,
    previousSecretUntil: null,
    state: 'active',
    disabledReason: null,
    createdAt: clock.now(),
  };
  await db.transaction().execute(async (trx) => {
    // The lock makes the second of two simultaneous requests count the first.
    if (!(await lockProject(trx, wallet, projectId))) throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
    if ((await countEndpoints(trx, projectId)) >= MAX_ENDPOINTS) {
      throw new ApiError('ERR_TOO_MANY_WEBHOOKS', { max: MAX_ENDPOINTS });
    }
    await insertEndpoint(trx, endpoint);
    await recordChange(trx, {
      ...entryOf(deps, wallet, endpoint),
      action: 'webhook.created',
      after: describe(endpoint),
    });
  });
  return { webhook: presentEndpoint(endpoint, clock.now()), secret: secrets.show(endpoint.id, 1) };
}

/**
 * Changes the given fields. Simultaneous changes run one after the other; a change without effect gets no audit entry.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_INVALID_REQUEST; ERR_RATE_LIMITED after too many
 * changes in 24 hours
 */
export async function changeEndpoint(
  deps: EndpointDeps,
  wallet: Address,
  place: EndpointIds,
  { url, events, state }: ChangeWebhookRequest,
): Promise<Webhook> {
  if (url !== undefined) requireUrl(deps, url);
  return change(deps, wallet, place, async (trx, endpoint) => {
    const changed: Endpoint = {
      ...endpoint,
      url: url ?? endpoint.url,
      events: inOrder(events ?? endpoint.events),
      state: state ?? endpoint.state,
      // Why it was disabled stays until it is enabled.
      disabledReason: state === 'active' ? null : endpoint.disabledReason,
    };
    const [before, after] = [describe(endpoint), describe(changed)];
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      if (endpoint.state === 'disabled' && changed.state === 'active') {
        await makeWaitingDue(trx, endpoint.id, deps.clock.now());
      }
      await updateEndpoint(trx, changed);
      await recordChange(trx, { ...entryOf(deps, wallet, endpoint), action: 'webhook.changed', before, after });
    }
    return presentEndpoint(changed, deps.clock.now());
  });
}

/**
 * Replaces the secret of an endpoint. The old one signs too until the overlap is over.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_WEBHOOKS_UNAVAILABLE; ERR_RATE_LIMITED after too
 * many rotations in 24 hours
 */
export async function rotateSecret(
  deps: EndpointDeps,
  wallet: Address,
  place: EndpointIds,
  { overlapSeconds }: RotateWebhookRequest,
): Promise<CreatedWebhook> {
  return change(deps, wallet, place, async (trx, endpoint) => {
    const secrets = requireSecrets(deps);
    const now = deps.clock.now();
    const previousSecretUntil = new Date(now.getTime() + overlapSeconds * 1_000);
    const rotated = { ...endpoint, secretVersion: endpoint.secretVersion + 1, previousSecretUntil };
    await updateEndpoint(trx, rotated);
    const after = { previousSecretUntil: previousSecretUntil.toISOString() };
    await recordChange(trx, { ...entryOf(deps, wallet, endpoint), action: 'webhook.rotated', after });
    return { webhook: presentEndpoint(rotated, now), secret: secrets.show(rotated.id, rotated.secretVersion) };
  });
}

/**
 * Deletes an endpoint with its deliveries.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND
 */
export async function removeEndpoint(deps: EndpointDeps, wallet: Address, place: EndpointIds): Promise<void> {
  await change(deps, wallet, place, async (trx, endpoint) => {
    await deleteEndpoint(trx, endpoint.id);
    await insertAuditEntry(trx, {
      ...entryOf(deps, wallet, endpoint),
      action: 'webhook.deleted',
      before: describe(endpoint),
    });
  });
}

export interface EndpointIds {
  readonly projectId: string;
  readonly webhookId: string;
}

/**
 * Runs work on a locked endpoint of a project of this wallet.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND
 */
export async function change<T>(
  { db }: EndpointDeps,
  wallet: Address,
  { projectId, webhookId }: EndpointIds,
  work: (trx: Db, endpoint: Endpoint) => Promise<T>,
): Promise<T> {
  await requireOwnProject({ db }, wallet, projectId);
  return db.transaction().execute(async (trx) => {
    const endpoint = await lockEndpoint(trx, projectId, webhookId);
    if (!endpoint) throw new ApiError('ERR_WEBHOOK_NOT_FOUND', { webhookId });
    return work(trx, endpoint);
  });
}

/** Begins an audit entry about an endpoint. */
function entryOf(
  { clock }: Pick<EndpointDeps, 'clock'>,
  actor: Address,
  { id: subject, projectId }: Pick<Endpoint, 'id' | 'projectId'>,
) {
  return { at: clock.now(), actor, projectId, subject };
}

function requireSecrets({ webhooks }: EndpointDeps): WebhookSecrets {
  if (webhooks.secrets === null) throw new ApiError('ERR_WEBHOOKS_UNAVAILABLE');
  return webhooks.secrets;
}

function requireUrl({ webhooks }: EndpointDeps, url: string): void {
  const problem = findUrlIssue(url, webhooks.rules);
  if (problem !== null) throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.url', problem });
}

/** Sorts topics, and lists each once. */
function inOrder(events: readonly WebhookTopic[]): WebhookTopic[] {
  return [...new Set(events)].toSorted();
}

function presentEndpoint(endpoint: Endpoint, now: Date): Webhook {
  const { id, url, events, state, disabledReason, createdAt, previousSecretUntil } = endpoint;
  return {
    webhookId: id,
    url,
    events: [...events],
    state,
    ...(disabledReason !== null && { disabledReason }),
    dateCreated: createdAt.toISOString(),
    ...(previousSecretUntil !== null &&
      now < previousSecretUntil && { previousSecretUntil: previousSecretUntil.toISOString() }),
  };
}

function presentNewest({ type, state, status, createdAt }: NewestDelivery): NonNullable<Webhook['newestDelivery']> {
  return { type, state, ...(status !== null && { status }), dateCreated: createdAt.toISOString() };
}

/** Describes an endpoint for the audit log. */
function describe({ url, events, state }: Endpoint) {
  return { url, events, state };
}
