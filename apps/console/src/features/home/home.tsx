import { useSession } from '../../lib/service/session.ts';
import { Lines } from '../../ui/state/skeleton.tsx';
import { Projects } from './projects.tsx';
import { Welcome } from './welcome.tsx';

/** What it is, for who is signed out; your projects, for who is signed in. */
export function Home() {
  const session = useSession();
  if (session === undefined) return <Lines count={3} className="h-24" />;
  return session ? <Projects /> : <Welcome />;
}
