import { useInfiniteQuery } from '@tanstack/react-query';
import { auditQuery } from '../../lib/service/company.ts';
import { Panel } from '../../ui/state/panel.tsx';
import { AuditList } from '../audit/audit-list.tsx';

/** Who did what in any project, and in the company itself. */
export function AuditLog() {
  const log = useInfiniteQuery(auditQuery);
  return (
    <Panel>
      <AuditList history={log} namesProject emptyText="Nobody has done anything yet." />
    </Panel>
  );
}
