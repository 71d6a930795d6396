import type { WebhookEvent } from '@flywheel/api';
import type { Clock } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { type FundsDeps, presentFunds, readVaultNeeds, type VaultNeeds } from '../../projects/overview/vault-funds.ts';
import { findOpenBatches } from '../../store/batches/open-batches.ts';
import { findProject } from '../../store/projects/projects.ts';
import { claimDueVaults, type DueVault, emitVaultLow, markVaultFilled } from '../../store/webhooks/vault-watch.ts';

export interface WatchDeps extends FundsDeps {
  readonly clock: Clock;
  /** Calls back when there may be one to look at. Ends with what it returns. */
  readonly onNews: (wake: () => void) => () => void;
}

/** In which a look is over, one at a cluster that does not answer included; then it is made again. */
const LOOK_MS = 30_000;
const LOOKS_AT_ONCE = 10;
const POLL_MS = 5_000;
/** A vault that stays low is told of once a day. */
const TELL_AGAIN_MS = 86_400_000;

/** Looks at the vaults for which somebody asked, and tells of those that hold less than their open batches take. */
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
        const until = new Date(now.getTime() + LOOK_MS);
        const taken = await claimDueVaults(db, { now, until, limit: LOOKS_AT_ONCE });
        await Promise.all(taken.map((vault) => look(deps, vault)));
        if (taken.length > 0) continue;
      } catch (error) {
        log.warn({ err: error }, 'a vault that may be low cannot be looked at; it is later');
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

async function look(deps: WatchDeps, vault: DueVault): Promise<void> {
  const { db, clock, log } = deps;
  const project = await findProject(db, vault.projectId);
  // Nothing more is executed from it.
  if (project === null || typeof project === 'string') return markVaultFilled(db, vault);
  const needs = await readVaultNeeds(deps, project, await findOpenBatches(db, vault.projectId));
  // The cluster does not answer: somebody looks again when this look's time is over.
  if (needs === null) return;
  if (needs.tokens.missing === 0n && needs.lamports.missing === 0n) return markVaultFilled(db, vault);
  const now = clock.now();
  const event = vaultLow(project, needs, now);
  const toldBefore = new Date(now.getTime() - TELL_AGAIN_MS);
  const isNews = await emitVaultLow(db, vault, { event, toldBefore });
  if (isNews) log.warn({ projectId: project.id, ...presentFunds(needs, project.token) }, 'vault low');
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
