import { isFlywheelError } from '@flywheel/sdk';
import { useQueryClient } from '@tanstack/react-query';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { environmentQuery } from '../lib/api/environment.ts';
import { CodeNotLoaded } from '../lib/load-code.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice, Notice } from '../ui/feedback.tsx';

/** Shows an error that a screen threw. */
export function ErrorPage({ error }: ErrorComponentProps) {
  if (error instanceof CodeNotLoaded) return <MissingScreen />;
  return (
    <ErrorNotice error={error instanceof Error ? error : new Error(String(error))} onRetry={() => location.reload()} />
  );
}

/** Soon enough for a person who waits, rare enough for a service that comes back under load. */
const RETRY_INTERVAL_MS = 5_000;

/**
 * Says that a screen's code did not load. It loads the page again once the service answers, which has the code of the new
 * release; before that, the browser would show a page of its own. One automatic reload a minute, so that none follows another.
 */
function MissingScreen() {
  const answers = useServiceAnswers();
  const [state, setState] = useState<'trying' | 'away' | 'incomplete'>('trying');
  const load = useCallback(
    async (isAsked: boolean) => {
      setState('trying');
      if (!(await answers())) setState('away');
      else if (isAsked || noteReload()) location.reload();
      else setState('incomplete');
    },
    [answers],
  );
  useEffect(() => void load(false), [load]);
  useEffect(() => {
    if (state !== 'away') return;
    const timer = setTimeout(() => void load(false), RETRY_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [state, load]);
  return (
    <Notice
      tone="failed"
      title="This screen could not be loaded"
      action={
        <Button size="small" isBusy={state === 'trying'} onClick={() => void load(true)}>
          Retry
        </Button>
      }
    >
      {state === 'incomplete'
        ? 'The service answers, but without the code of this screen: it may be in the middle of an upgrade. Retry in a minute.'
        : 'The service does not answer, or it was upgraded since this page was opened. The screen is loaded when the service answers.'}
    </Notice>
  );
}

/** Returns a function that checks if the service answers at all. */
function useServiceAnswers(): () => Promise<boolean> {
  const queries = useQueryClient();
  return useCallback(async () => {
    try {
      // Every document may read it, also one of an audit.
      await queries.fetchQuery({ ...environmentQuery, staleTime: 0 });
      return true;
    } catch (error) {
      return isFlywheelError(error) && error.status !== null;
    }
  }, [queries]);
}

const RELOADED_KEY = 'flywheel.reloaded';
const RELOAD_INTERVAL_MS = 60_000;

/** Notes an automatic reload of this tab. @returns false if the last one is less than a minute ago. */
function noteReload(): boolean {
  const now = Date.now();
  if (now - Number(sessionStorage.getItem(RELOADED_KEY)) < RELOAD_INTERVAL_MS) return false;
  sessionStorage.setItem(RELOADED_KEY, String(now));
  return true;
}
