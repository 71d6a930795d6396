import { useMutationState } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { SIGN_OUT_KEY, useSession, useSignOut } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Banner, sentenceOf } from '../../ui/feedback.tsx';

/** Says that signing out failed: whoever leaves a shared computer must know that the session goes on. */
export function SignOutBanner() {
  const session = useSession();
  const signOut = useSignOut();
  const last = useMutationState({ filters: { mutationKey: SIGN_OUT_KEY } }).at(-1);
  if (!session || !last?.error) return null;
  return (
    <Banner
      tone="failed"
      icon={LogOut}
      action={
        <Button size="small" onClick={() => signOut.mutate()}>
          Sign out
        </Button>
      }
    >
      <span className="font-medium">You are still signed in.</span> {sentenceOf(last.error)}
    </Banner>
  );
}
