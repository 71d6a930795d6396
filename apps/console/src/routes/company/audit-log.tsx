import { useInfiniteQuery } from '@tanstack/react-query';
import { AuditList } from '../../audit/audit-list.tsx';
import { Panel } from '../../parts/state/panel.tsx';
import { auditQuery } from '../../service/company.ts';

/** Who did what in any project, and in the company itself. */
export function AuditLog() {
  const log = useInfiniteQuery(auditQuery);
  return (
    <Panel>
      <AuditList history={log} namesProject emptyText="Nobody has done anything yet." />
    </Panel>
  );
}
