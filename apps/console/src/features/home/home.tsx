import { useSession } from '../../lib/api/session.ts';
import { Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { Projects } from './projects.tsx';
import { Welcome } from './welcome.tsx';

/** The start page: an introduction when signed out, the wallet’s projects when signed in. */
export function Home() {
  const session = useSession();
  if (session === undefined)
    return (
      <Loading>
        <SkeletonLines count={3} className="h-24" />
      </Loading>
    );
  return session ? <Projects /> : <Welcome />;
}
