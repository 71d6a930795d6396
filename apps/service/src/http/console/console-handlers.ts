import type { CONSOLE_OPERATIONS } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { PreviewDeps } from '../../batches/preview.ts';
import type { EnvironmentDeps } from '../../projects/environment.ts';
import type { OverviewDeps } from '../../projects/overview/overview.ts';
import type { EndpointDeps } from '../../webhooks/endpoints.ts';
import type { StreamDeps } from '../events/reply-with-events.ts';
import type { Handlers } from '../handlers.ts';
import { createCompanyHandlers } from './company-handlers.ts';
import { createIdentityHandlers } from './identity-handlers.ts';
import { createKeyHandlers } from './key-handlers.ts';
import { createProjectBatchHandlers } from './project-batch-handlers.ts';
import { createProjectHandlers } from './project-handlers.ts';
import { createProofHandlers } from './proof-handlers.ts';
import { createRegistrationHandlers } from './registration-handlers.ts';
import { createTreasuryHandlers } from './treasury-handlers.ts';
import { createWebhookHandlers } from './webhook-handlers.ts';

export interface ConsoleDeps
  extends PreviewDeps,
    StreamDeps,
    Pick<EndpointDeps, 'webhooks'>,
    Omit<EnvironmentDeps, 'chain'>,
    Pick<OverviewDeps, 'tokenNames'> {
  /** The signers' addresses. */
  readonly operator: Address;
  readonly company: Address;
  /** The wallets that act for the company. */
  readonly companyOperators: ReadonlySet<Address>;
  /** Where people reach the service; null: on loopback only. */
  readonly publicUrl: string | null;
}

/** What the console and `flywheel register` speak. */
export function createConsoleHandlers(deps: ConsoleDeps): Handlers<typeof CONSOLE_OPERATIONS> {
  return {
    ...createIdentityHandlers(deps),
    ...createRegistrationHandlers(deps),
    ...createProjectHandlers(deps),
    ...createKeyHandlers(deps),
    ...createProjectBatchHandlers(deps),
    ...createTreasuryHandlers(deps),
    ...createWebhookHandlers(deps),
    ...createProofHandlers(deps),
    ...createCompanyHandlers(deps),
  };
}
