import {
  type AuditOptions,
  type AuditQuery,
  type AuditRecord,
  type AuditState,
  auditVault,
  readGenesisHash,
} from '@flywheel/sdk';
import { auditProgress } from '@flywheel/sdk/audit-findings';
import { type SavedAudit, saveAudit } from './saved-audits.ts';

/** An audit to run in this browser. */
export interface AuditRun {
  /** The whole URL of the node, which may hold a key. */
  readonly rpcUrl: string;
  readonly query: AuditQuery;
  readonly options: Pick<AuditOptions, 'commitment' | 'requestsPerSecond'>;
  /** The audit that goes on; null for a new one. */
  readonly resumed: SavedAudit | null;
}

/** How far an audit has come. */
export interface AuditProgress {
  /** Transactions of the period that were read. */
  readonly read: number;
  /** The last slot that was read; null before the first. */
  readonly slot: number | null;
  /** 0 to 1; null if the period begins with the history, whose beginning is not known before it is reached. */
  readonly fraction: number | null;
}

/** A crash or a closed tab costs at most the requests of this time. */
const SAVE_INTERVAL_MS = 1_000;
/** Findings that wait in memory. */
const MAX_WAITING = 5_000;
const SHOW_INTERVAL_MS = 100;

/**
 * Runs an audit against a node, and saves from time to time where it stands. When the node has answered, it replaces
 * the saved audit of this vault by this node, unless it goes on from that.
 * @throws the signal's reason if it is aborted; FlywheelError and RangeError as `auditVault`.
 */
export async function runAudit(
  { rpcUrl, query, options, resumed }: AuditRun,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: AuditProgress) => void },
): Promise<SavedAudit> {
  const key = { vault: query.vault, node: new URL(rpcUrl).origin };
  let waiting: AuditRecord[] = [];
  let last = resumed?.state ?? null;
  const save = async (previous: SavedAudit | null, report: SavedAudit['report']): Promise<SavedAudit> => {
    const findings = waiting;
    waiting = [];
    return saveAudit({ ...key, query, state: last, report, savedAt: new Date().toISOString() }, findings, previous);
  };
  // An audit repeats its requests for a long time. A node that answers nothing is noticed sooner, and nothing is replaced.
  await readGenesisHash(rpcUrl, { signal });
  let saved = await save(resumed, null);
  let [savedAtMs, shownAtMs] = [0, 0];
  const report = await auditVault(rpcUrl, query, {
    ...options,
    ...(last && { resume: last }),
    signal,
    onRecord: (record) => void waiting.push(record),
    onCheckpoint: async (state) => {
      last = state;
      if (Date.now() - shownAtMs >= SHOW_INTERVAL_MS) {
        shownAtMs = Date.now();
        onProgress(progressOf(state));
      }
      if (waiting.length < MAX_WAITING && Date.now() - savedAtMs < SAVE_INTERVAL_MS) return;
      saved = await save(saved, null);
      savedAtMs = Date.now();
    },
  });
  return save(saved, report);
}

/** Shows where an audit stands. */
export function progressOf(state: AuditState): AuditProgress {
  const fraction = typeof state.period.from === 'number' ? auditProgress(state) : null;
  return { read: state.tally.read, slot: state.slot, fraction };
}
