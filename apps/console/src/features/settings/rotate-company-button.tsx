import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { companyQuery } from '../../lib/service/company.ts';
import { useSession } from '../../lib/service/session.ts';
import { rotateCompany } from '../../lib/service/treasury.ts';
import { Button } from '../../ui/form/button.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';

export interface RotateCompanyButtonProps {
  readonly projectId: string;
  /** Who votes for the company in this project. */
  readonly present: string;
}

/** For an operator of the company, where the service signs with another approver than the project knows. */
export function RotateCompanyButton({ projectId, present }: RotateCompanyButtonProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const company = useQuery({ ...companyQuery, enabled: isOperator });
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => rotateCompany(projectId, crypto.randomUUID()),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  if (!isOperator || company.data === undefined || company.data.company === present) return null;
  return (
    <>
      <Button size="small" isBusy={rotate.isPending} onClick={() => rotate.mutate()}>
        Replace it by the service’s
      </Button>
      {rotate.error && <ErrorNotice error={rotate.error} />}
    </>
  );
}
