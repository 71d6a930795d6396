import { useRouter } from '@tanstack/react-router';
import { useInsertionEffect } from 'react';

export interface LeaveQuestion {
  readonly question: string;
  /** False while nothing would be lost; a function is called when the person leaves. */
  readonly isNeeded?: boolean | (() => boolean);
  /** Start of the path to which the person may go without the question; none by default. */
  readonly nextPath?: string | undefined;
}

/**
 * Asks before a screen is left: the browser before it leaves the site, and this page before it shows another screen. It also
 * asks while the end of the session hides the screen. React then stops all effects but insertion effects, and with them the
 * router’s own `useBlocker`.
 */
export function useLeaveQuestion({ question, isNeeded = true, nextPath }: LeaveQuestion): void {
  const { history } = useRouter();
  useInsertionEffect(() => {
    const enableBeforeUnload = () => (typeof isNeeded === 'function' ? isNeeded() : isNeeded);
    return history.block({
      blockerFn: ({ nextLocation: { pathname } }) => {
        const isNext = nextPath !== undefined && pathname.startsWith(nextPath);
        return enableBeforeUnload() && !isNext && !confirm(question);
      },
      enableBeforeUnload,
    });
  }, [history, question, isNeeded, nextPath]);
}
