import { useMutationState } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { SIGN_OUT_KEY, useSession, useSignOut } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { sentenceOf } from '../../ui/feedback.tsx';

/** Says that signing out failed: whoever leaves a shared computer must know that the session goes on. */
export function SignOutBanner() {
  const session = useSession();
  const signOut = useSignOut();
  const last = useMutationState({ filters: { mutationKey: SIGN_OUT_KEY } }).at(-1);
  if (!session || !last?.error) return null;
  return (
    <div role="alert" className="border-b border-failed/50 bg-failed-wash">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2">
        <p className="flex min-w-0 flex-1 basis-64 items-start gap-2">
          <LogOut size={17} aria-hidden className="mt-0.5 shrink-0 text-failed" />
          <span className="min-w-0 break-words">
            <span className="font-medium">You are still signed in.</span> {sentenceOf(last.error)}
          </span>
        </p>
        <Button size="small" onClick={() => signOut.mutate()}>
          Sign out
        </Button>
      </div>
    </div>
  );
}
