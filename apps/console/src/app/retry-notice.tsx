import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { latestRetry, type Retry, subscribeRetries } from '../lib/api/retries.ts';
import { sentenceOf } from '../ui/feedback.tsx';
import { Ring } from '../ui/ring.tsx';

/**
 * Says that a request is being retried, why, and when next. It covers the end of the window, so that nothing moves; as a
 * popover it stands above a dialog too.
 */
export function RetryNotice() {
  const retry = useSyncExternalStore(subscribeRetries, latestRetry);
  return retry && <Waiting retry={retry} />;
}

const TICK_MS = 250;

function Waiting({ retry: { error, nextAtMs } }: { readonly retry: Retry }) {
  const box = useRef<HTMLDivElement>(null);
  const [now, setNow] = useState(Date.now);
  useEffect(() => box.current?.showPopover(), []);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((nextAtMs - now) / 1_000);
  return (
    <div
      ref={box}
      popover="manual"
      className="fixed inset-x-4 top-auto bottom-4 mx-auto max-w-xl items-start gap-3 rounded border border-waiting/50 bg-waiting-wash p-3 text-ink open:flex"
    >
      <Ring size={18} progress={0.7} isSpinning className="mt-0.5 shrink-0 text-waiting" />
      <p className="min-w-0 break-words">
        <span role="status" className="font-medium">
          {sentenceOf(error)}
        </span>{' '}
        {seconds > 1 ? `Retrying in ${seconds} s.` : 'Retrying.'}
      </p>
    </div>
  );
}
