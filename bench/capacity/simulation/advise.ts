import type { Fleet } from './fleet.ts';
import type { Outcome, Scenario, Utilisation } from './run-day.ts';

/** The share of each part that a fleet which was chosen for a demand has in use in its busiest five minutes. */
const TARGET = 0.6;
/** The least of each part. */
const LEAST: Pick<
  Fleet,
  'serves' | 'works' | 'databaseCores' | 'walBytesPerSecond' | 'rpcPerSecond' | 'enginePerSecond'
> = {
  // Two of each process, so that one may end.
  serves: 2,
  works: 2,
  databaseCores: 4,
  walBytesPerSecond: 100e6,
  rpcPerSecond: 50,
  enginePerSecond: 1,
};

/** A network of one gigabit a second. */
const LEAST_SENT = 125e6;

/** Events that one pipeline must pay for so that the demand fits the chain and its busiest multisig; 1 if it fits as it is. */
export function eventsPerPipelineFor({ utilisations }: Outcome): number {
  const most = Math.max(peakOf(utilisations, 'block'), peakOf(utilisations, 'busiest multisig'));
  return most <= TARGET ? 1 : Math.min(MOST_MERGED, Math.ceil(most / TARGET));
}

/** Most events of a merged payload (docs/decisions/0081). */
const MOST_MERGED = 900;

/** Chooses a fleet of which the demand uses 60 % in its busiest five minutes, from what it used of another one. */
export function sizeFleet({ fleet }: Scenario, { utilisations }: Outcome): Fleet {
  const needed = (name: Utilisation['name'], had: number) => (had * peakOf(utilisations, name)) / TARGET;
  const unlimited = Number.POSITIVE_INFINITY;
  const { standbys } = fleet;
  return {
    ...fleet,
    standbys: standbys && {
      ...standbys,
      sentBytesPerSecond: Math.max(LEAST_SENT, needed('replication', standbys.sentBytesPerSecond)),
    },
    serves: Math.max(LEAST.serves, Math.ceil(needed('serve CPU', fleet.serves))),
    works: Math.max(LEAST.works, Math.ceil(needed('work CPU', fleet.works))),
    databaseCores: Math.max(LEAST.databaseCores, Math.ceil(needed('database CPU', fleet.databaseCores))),
    walBytesPerSecond: Math.max(LEAST.walBytesPerSecond, needed('database WAL', fleet.walBytesPerSecond)),
    rpcPerSecond: Math.max(LEAST.rpcPerSecond, Math.ceil(needed('RPC requests', fleet.rpcPerSecond))),
    enginePerSecond: Math.max(LEAST.enginePerSecond, Math.ceil(needed('engine requests', fleet.enginePerSecond))),
    operators: Math.max(1, Math.ceil(needed("operator's account", fleet.operators))),
    caps: {
      openBatches: unlimited,
      openPipelines: unlimited,
      lockedLamports: unlimited,
      spentLamportsPerDay: unlimited,
    },
    placesPerWork: unlimited,
  };
}

export function peakOf(utilisations: readonly Utilisation[], name: Utilisation['name']): number {
  return utilisations.find((one) => one.name === name)?.peak ?? 0;
}
