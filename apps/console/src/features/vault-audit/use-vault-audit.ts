import { listFindings } from '@flywheel/sdk/audit-findings';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { type AuditProgress, type AuditRun, progressOf, runAudit } from './run-audit.ts';
import { type AuditKey, deleteAudit, readAudit, readFindings } from './saved-audits.ts';

/** The audit of a vault by a node that this browser keeps, with the findings that people read; null for none. */
function savedAuditQuery(key: AuditKey) {
  return queryOptions({
    queryKey: ['vault-audit', key.vault, key.node],
    queryFn: async () => {
      const audit = await readAudit(key);
      if (audit === null) return null;
      const { report } = audit;
      return { audit, ended: report && { report, listed: await listFindings(readFindings(audit)) } };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const CANCELLED = new Error('The audit was cancelled.');

/** Runs the audit of a vault by a node, and shows the one that this browser keeps. */
export function useVaultAudit(key: AuditKey) {
  const queries = useQueryClient();
  const saved = useQuery(savedAuditQuery(key));
  const [progress, setProgress] = useState<AuditProgress | null>(null);
  const stop = useRef<AbortController | null>(null);
  const running = useMutation({
    mutationFn: async (run: AuditRun) => {
      const abort = new AbortController();
      stop.current = abort;
      setProgress(run.resumed?.state ? progressOf(run.resumed.state) : { read: 0, slot: null, fraction: null });
      try {
        await runAudit(run, { signal: abort.signal, onProgress: setProgress });
      } catch (error) {
        if (error !== CANCELLED) throw error;
      } finally {
        await queries.invalidateQueries(savedAuditQuery(key));
        setProgress(null);
      }
    },
  });
  const deletion = useMutation({
    mutationFn: deleteAudit,
    onSettled: () => queries.invalidateQueries(savedAuditQuery(key)),
  });
  // An audit does not go on behind another screen.
  useEffect(() => () => stop.current?.abort(CANCELLED), []);
  return {
    saved,
    /** null unless the audit runs. */
    progress,
    error: running.error ?? deletion.error,
    start: running.mutate,
    discard: deletion.mutate,
    cancel: () => stop.current?.abort(CANCELLED),
  };
}
