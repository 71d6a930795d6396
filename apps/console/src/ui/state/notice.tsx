import { isFlywheelError } from '@flywheel/sdk';
import { CircleAlert, CircleCheck, Clock, Info } from 'lucide-react';
import type { ReactNode } from 'react';
import { classes } from '../classes.ts';
import { Button } from '../form/button.tsx';
import { Prose } from '../show/prose.tsx';

export interface NoticeProps {
  readonly tone: 'failed' | 'waiting' | 'done' | 'plain';
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

const LOOKS = {
  failed: { box: 'border-failed/50 bg-failed-wash', icon: 'text-failed', Icon: CircleAlert },
  waiting: { box: 'border-waiting/50 bg-waiting-wash', icon: 'text-waiting', Icon: Clock },
  done: { box: 'border-done/50 bg-done-wash', icon: 'text-done', Icon: CircleCheck },
  plain: { box: 'bg-sunken', icon: 'text-quiet', Icon: Info },
} as const;

/** Something to know, in a sentence, with what to do about it. */
export function Notice({ tone, title, children, action }: NoticeProps) {
  const { box, icon, Icon } = LOOKS[tone];
  return (
    <div
      role={tone === 'failed' ? 'alert' : 'status'}
      className={classes('flex flex-wrap items-start gap-3 rounded border p-3', box)}
    >
      <Icon size={18} aria-hidden className={classes('mt-0.5 shrink-0', icon)} />
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-medium break-words">
          <Prose text={title} />
        </p>
        {children && <div className="mt-0.5 text-sm break-words">{children}</div>}
      </div>
      {action}
    </div>
  );
}

/** What went wrong, by its code, its sentence and the request id to quote. */
export function ErrorNotice({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const known = isFlywheelError(error) ? error : null;
  return (
    <Notice
      tone="failed"
      title={error.message}
      action={
        onRetry && (
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      {known && (
        <p className="font-mono text-xs">
          {known.code}
          {known.requestId && ` · request ${known.requestId}`}
        </p>
      )}
    </Notice>
  );
}
