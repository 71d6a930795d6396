import { Lines } from '../../parts/state/skeleton.tsx';
import { useSession } from '../../service/session.ts';
import { Projects } from './projects.tsx';
import { Welcome } from './welcome.tsx';

/** What it is, for who is signed out; your projects, for who is signed in. */
export function Home() {
  const session = useSession();
  if (session === undefined) return <Lines count={3} className="h-24" />;
  return session ? <Projects /> : <Welcome />;
}
