import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { latestRepeat, type Repeat, subscribeRepeats } from '../lib/api/repeats.ts';
import { sentenceOf } from '../ui/feedback.tsx';
import { Ring } from '../ui/ring.tsx';

/**
 * Says that a request is being repeated, why, and when next. It covers the end of the window, so that nothing moves; as a
 * popover it stands above a dialog too.
 */
export function RepeatNotice() {
  const repeat = useSyncExternalStore(subscribeRepeats, latestRepeat);
  return repeat && <Waiting repeat={repeat} />;
}

const TICK_MS = 250;

function Waiting({ repeat: { error, nextAtMs } }: { readonly repeat: Repeat }) {
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
