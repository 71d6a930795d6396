import type { WebhookEvent } from '@flywheel/api';
import { type Clock, DAY_MS } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import { type FundsDeps, presentFunds, readVaultNeeds, type VaultNeeds } from '../projects/vault-funds.ts';
import { findOpenBatches } from '../store/batches/open-batches.ts';
import { findProject } from '../store/projects/projects.ts';
import {
  type ClaimedVault,
  claimDueVaults,
  emitVaultLow,
  recordVaultSufficient,
} from '../store/webhooks/vault-balance-checks.ts';

export interface WatchDeps extends FundsDeps {
  readonly clock: Clock;
  /** Subscribes to scheduled checks; returns the function that unsubscribes. */
  readonly onNews: (wake: () => void) => () => void;
}

/** Longer than any check takes, even if the cluster does not answer. After that another worker repeats the check. */
const CLAIM_MS = 30_000;
const MAX_CONCURRENT_CHECKS = 10;
const POLL_MS = 5_000;
/** A vault that stays low is reported once a day. */
const REPEAT_AFTER_MS = DAY_MS;

/** Runs the scheduled balance checks, and emits `vault.low` for vaults that hold less than their open batches need. */
export function watchVaults(deps: WatchDeps): { stop(): Promise<void> } {
  const { db, clock, log } = deps;
  const stopping = new AbortController();
  let news = Promise.withResolvers<void>();
  const stopListening = deps.onNews(() => news.resolve());
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      news = Promise.withResolvers();
      try {
        const now = clock.now();
        const claimedUntil = new Date(now.getTime() + CLAIM_MS);
        const taken = await claimDueVaults(db, { now, claimedUntil, limit: MAX_CONCURRENT_CHECKS });
        await Promise.all(taken.map((vault) => checkVault(deps, vault)));
        if (taken.length > 0) continue;
      } catch (error) {
        log.warn({ err: error }, 'vault balance check failed; it is repeated later');
      }
      const over = new AbortController();
      const signal = AbortSignal.any([stopping.signal, over.signal]);
      await Promise.race([news.promise, clock.sleep(POLL_MS, signal).catch(() => undefined)]);
      over.abort();
    }
  })();
  return {
    async stop() {
      stopping.abort();
      stopListening();
      await watching;
    },
  };
}

async function checkVault(deps: WatchDeps, vault: ClaimedVault): Promise<void> {
  const { db, clock, log } = deps;
  const project = await findProject(db, vault.projectId);
  // An archived project executes nothing more.
  if (project === null || typeof project === 'string') return recordVaultSufficient(db, vault);
  const needs = await readVaultNeeds(deps, project, await findOpenBatches(db, vault.projectId));
  // The cluster does not answer: the check is due again when the claim ends.
  if (needs === null) return;
  if (needs.tokens.missing === 0n && needs.lamports.missing === 0n) return recordVaultSufficient(db, vault);
  const now = clock.now();
  const event = vaultLow(project, needs, now);
  const isEmitted = await emitVaultLow(db, vault, { event, repeatAfterMs: REPEAT_AFTER_MS });
  if (isEmitted) log.warn({ projectId: project.id, ...presentFunds(needs, project.token) }, 'vault low');
}

function vaultLow(project: Project, needs: VaultNeeds, now: Date): WebhookEvent {
  return {
    type: 'vault.low',
    timestamp: now.toISOString(),
    data: {
      projectId: project.id,
      vaultAddress: project.flywheel.multisig.vault,
      mintAddress: project.token.mint,
      ...presentFunds(needs, project.token),
    },
  };
}
