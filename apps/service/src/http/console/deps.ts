import type { Address } from '@solana/kit';
import type { PreviewDeps } from '../../batches/preview.ts';
import type { EnvironmentReader } from '../../projects/environment.ts';
import type { OverviewDeps } from '../../projects/overview.ts';
import type { EndpointDeps } from '../../webhooks/endpoints.ts';
import type { StreamDeps } from '../batches/batch-replies.ts';

/** Dependencies of the console's handlers. */
export interface ConsoleDeps
  extends PreviewDeps,
    StreamDeps,
    Pick<EndpointDeps, 'webhooks'>,
    Pick<OverviewDeps, 'tokenNames' | 'countBatches'> {
  readonly readEnvironment: EnvironmentReader;
  /** The operator's and the company approver's addresses. */
  readonly operator: Address;
  readonly company: Address;
  /** Recovery key of new projects; null for none. */
  readonly recovery: Address | null;
  /** The service's public URL; null if it is reached over loopback only. */
  readonly publicUrl: string | null;
}
