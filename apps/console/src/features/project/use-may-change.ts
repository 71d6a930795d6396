import { useQuery } from '@tanstack/react-query';
import { projectQuery } from '../../lib/service/projects.ts';
import { useSession } from '../../lib/service/session.ts';

/** Whether the wallet that is signed in owns the project; the company’s operators read it and change nothing. */
export function useMayChange(projectId: string): boolean {
  const session = useSession();
  const { data } = useQuery(projectQuery(projectId));
  return data !== undefined && data.wallet === session?.wallet;
}
