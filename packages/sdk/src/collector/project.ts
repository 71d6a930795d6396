import { FlywheelError } from '../errors.ts';
import type { PayDeps } from './pay-batch.ts';
import type { CollectorStore } from './store.ts';

/** Time that a start waits for the service. */
const START_TIMEOUT_MS = 10_000;

/** Keeps a collector from paying the events of one project from the vault of another. */
export interface ProjectGuard {
  /**
   * Compares the projects at the start. If the service does not answer, nothing is decided yet: an outage must not keep events
   * out of the store.
   * @throws FlywheelError `ERR_COLLECTOR_PROJECT`, and every error of the store.
   */
  checkAtStart(): Promise<void>;
  /**
   * Compares the projects, once.
   * @throws FlywheelError `ERR_COLLECTOR_PROJECT`, and every error of the service and of the store.
   */
  require(signal: AbortSignal): Promise<void>;
}

/**
 * Creates the guard of a store. A store that belongs to no project yet takes the one of the API key. Nothing is compared for
 * a store without `bindProject`, or while a service older than 0.3 has no batch of the project.
 */
export function guardProject({
  client,
  store,
  approval,
}: Pick<PayDeps, 'client' | 'approval'> & { readonly store: CollectorStore }): ProjectGuard {
  const expected = approval === 'person' || approval.verify === 'trust-service' ? null : approval.verify.vaultAddress;
  let isSame = store.bindProject === undefined;

  async function readVault(signal: AbortSignal): Promise<string | null> {
    const { vaultAddress, batches } = await client.listBatches({ limit: 1, signal });
    return vaultAddress ?? batches[0]?.vaultAddress ?? null;
  }

  async function compare(shown: string | null): Promise<void> {
    if (expected && shown !== null && expected !== shown) {
      throw otherProject(
        `verify.vaultAddress is ${expected}, and the API key belongs to the project with the vault ${shown}. Pass the API key and the vault of one project.`,
      );
    }
    const vault = shown ?? expected ?? null;
    const kept = vault === null ? null : await store.bindProject?.(vault);
    if (kept !== vault) {
      throw otherProject(
        `The store belongs to the project with the vault ${kept}, and this collector would pay from the vault ${vault}. Use the API key, the wallet and the service of the first project, or open another store for the second one.`,
      );
    }
    isSame = true;
  }

  return {
    async checkAtStart() {
      if (isSame) return;
      const shown = await readVault(AbortSignal.timeout(START_TIMEOUT_MS)).catch(() => undefined);
      if (shown !== undefined) await compare(shown);
    },
    async require(signal) {
      if (!isSame) await compare(await readVault(signal));
    },
  };
}

function otherProject(facts: string): FlywheelError<'ERR_COLLECTOR_PROJECT'> {
  return new FlywheelError({ code: 'ERR_COLLECTOR_PROJECT', message: `${facts} Nothing was sent.` });
}
