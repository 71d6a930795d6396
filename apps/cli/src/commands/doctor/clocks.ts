import { clusterTimeOf } from '@flywheel/protocol';
import { roughDuration } from '../../format.ts';
import { type Check, ok, warning } from './check.ts';
import type { Node } from './node.ts';

/** The cluster's time lags by seconds. UTC days of limits and expiries of approvals follow this machine’s clock. */
const MAX_CLUSTER_SKEW_SECONDS = 30;

/** Checks this machine's clock against the cluster's, at `confirmed`. */
export function checkClusterClock({ accounts: { clock } }: Node, clusterName: string): Check {
  const clusterSeconds = clock.exists ? clusterTimeOf(clock.data) : null;
  if (clusterSeconds === null) {
    return warning('clock', 'The cluster has no clock account.', 'Use another node: every cluster has it.');
  }
  const aheadSeconds = Math.round(Date.now() / 1_000 - clusterSeconds);
  const text = `This machine’s clock is ${describeSkew(aheadSeconds)} the cluster’s.`;
  if (Math.abs(aheadSeconds) <= MAX_CLUSTER_SKEW_SECONDS) return ok('clock', text);
  const remedy =
    clusterName === 'a local cluster'
      ? 'flywheel localnet warp may have moved it, or its slots are paused: flywheel localnet resume-slots.'
      : 'Synchronize this machine’s clock with NTP, or use a node that keeps up.';
  return warning('clock', text, remedy);
}

/** The database's clock decides which job is due; workers are missed after three heartbeats, 30 s. */
const MAX_DATABASE_SKEW_SECONDS = 5;

/** Checks this machine's clock against PostgreSQL's. */
export function checkDatabaseClock({ clockAheadMs }: { readonly clockAheadMs: number }): Check {
  const aheadSeconds = Math.round(clockAheadMs / 1_000);
  const text = `This machine’s clock is ${describeSkew(aheadSeconds)} PostgreSQL’s.`;
  if (Math.abs(aheadSeconds) <= MAX_DATABASE_SKEW_SECONDS) return ok('clock', text);
  return warning('clock', text, 'Synchronize both machines with NTP: the database’s clock decides which job is due.');
}

function describeSkew(aheadSeconds: number): string {
  if (aheadSeconds === 0) return 'within a second of';
  return `${roughDuration(Math.abs(aheadSeconds) * 1_000)} ${aheadSeconds > 0 ? 'ahead of' : 'behind'}`;
}
