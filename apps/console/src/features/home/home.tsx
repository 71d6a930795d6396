import { useSession } from '../../lib/session.ts';
import { SkeletonLines } from '../../ui/feedback.tsx';
import { Projects } from './projects.tsx';
import { Welcome } from './welcome.tsx';

/** What it is, for who is signed out; your projects, for who is signed in. */
export function Home() {
  const session = useSession();
  if (session === undefined) return <SkeletonLines count={3} className="h-24" />;
  return session ? <Projects /> : <Welcome />;
}
