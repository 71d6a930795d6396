import { readShardOfError } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { RpcError } from '@flywheel/solana-rpc';
import type { UseQueryResult } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, Clock, Info, type LucideIcon } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { Button } from './button.tsx';
import { cn } from './cn.ts';
import { Page } from './layout.tsx';
import { Ring } from './ring.tsx';
import { MessageText } from './text.tsx';

export interface NoticeProps {
  readonly tone: 'failed' | 'waiting' | 'done' | 'plain';
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

const TONES = {
  failed: { box: 'border-failed/50 bg-failed-wash', icon: 'text-failed', Icon: CircleAlert },
  waiting: { box: 'border-waiting/50 bg-waiting-wash', icon: 'text-waiting', Icon: Clock },
  done: { box: 'border-done/50 bg-done-wash', icon: 'text-done', Icon: CircleCheck },
  plain: { box: 'bg-sunken', icon: 'text-quiet', Icon: Info },
} as const;

/** A message, with an optional explanation and action. */
export function Notice({ tone, title, children, action }: NoticeProps) {
  const { box, icon, Icon } = TONES[tone];
  return (
    <div
      role={tone === 'failed' ? 'alert' : 'status'}
      className={cn('flex flex-wrap items-start gap-3 rounded border p-3', box)}
    >
      <Icon size={18} aria-hidden className={cn('mt-0.5 shrink-0', icon)} />
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-medium break-words">
          <MessageText text={title} />
        </p>
        {children && <div className="mt-0.5 text-sm break-words">{children}</div>}
      </div>
      {action}
    </div>
  );
}

export interface BannerProps {
  readonly tone: 'failed' | 'waiting';
  /** The icon of the tone by default. */
  readonly icon?: LucideIcon;
  readonly children: ReactNode;
  readonly action: ReactNode;
}

/** A message about every screen, below the header. */
export function Banner({ tone, icon: Icon = TONES[tone].Icon, children, action }: BannerProps) {
  const { box, icon } = TONES[tone];
  return (
    <div role={tone === 'failed' ? 'alert' : 'status'} className={cn('border-b', box)}>
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2">
        <p className="flex min-w-0 flex-1 basis-64 items-start gap-2">
          <Icon size={17} aria-hidden className={cn('mt-0.5 shrink-0', icon)} />
          <span className="min-w-0 break-words">{children}</span>
        </p>
        {action}
      </div>
    </div>
  );
}

/**
 * Names of the parts with which a message of the service can begin: of fields as the forms label them, and of the request
 * itself. Fields without a form here keep the service's name.
 */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  request: 'The request',
  body: 'The body of the request',
  path: 'The path of the request',
  'body.url': 'The endpoint URL',
  'body.mint': 'The mint',
  'body.to': 'The recipient',
  'body.amount': 'The amount',
  'body.newWallet': 'The new wallet',
  'body.scopes': 'The list of scopes',
  'body.burnLimit': 'The daily burn limit',
  'body.airdropLimit': 'The daily airdrop limit',
  'body.expiresAt': 'The expiry',
};

/**
 * Says an error to a person: a field by the name that its form shows, a node that is away without the words of `fetch`, a
 * proxy’s error page without the words of an operation, and a service of another release without the names of fields.
 */
export function sentenceOf(error: Error): string {
  const { message } = error;
  const node = rpcErrorOf(error);
  if (node?.reason === 'unreachable' || node?.reason === 'timeout') {
    return `The Solana node ${node.host} does not answer this browser. Check your connection, then retry.`;
  }
  if (isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && error.status !== null && error.status >= 500) {
    return `The service is not available: the answer was HTTP status ${error.status}. Retry in a minute.`;
  }
  // A page sends no field that the service of its own release does not know.
  if (isFlywheelError(error, 'ERR_INVALID_REQUEST') && / has the unknown fields? /.test(message)) {
    return 'This page and the service that answered are of different releases: an upgrade may be under way. Retry in a minute; if that does not help, load this page again.';
  }
  const place = message.split(' ', 1)[0] ?? '';
  const name = FIELD_NAMES[place];
  return name === undefined ? message : name + message.slice(place.length);
}

/** The answer of a Solana node that an error is about, or its cause; undefined if it is about something else. */
export function rpcErrorOf(error: Error): RpcError | undefined {
  return [error, error.cause].find((each) => each instanceof RpcError);
}

export interface ErrorNoticeProps {
  readonly error: Error;
  readonly onRetry?: () => void;
  readonly isRetrying?: boolean;
}

/**
 * Shows an error: its message, its code and the request id for support. The end of the session has a screen of its own.
 * Behind it only Retry is left to show: the person who is back has signed in again, and may have no other way to go on. One of
 * several shards may end its session alone, and then no such screen is shown.
 */
export function ErrorNotice({ error, onRetry, isRetrying = false }: ErrorNoticeProps) {
  const retry = onRetry && (
    <Button size="small" isBusy={isRetrying} onClick={onRetry}>
      Retry
    </Button>
  );
  if (isFlywheelError(error, 'ERR_UNAUTHORIZED')) {
    if (retry) return <Notice tone="plain" title="Your session ended before this was done." action={retry} />;
    const { shard, count } = readShardOfError(error);
    return count === 1 ? null : (
      <Notice tone="failed" title={`Your session in shard ${shard} has ended. Sign in there, then try again.`} />
    );
  }
  const known = isFlywheelError(error) ? error : null;
  return (
    <Notice tone="failed" title={sentenceOf(error)} action={retry}>
      {known && (
        <p className="font-mono text-xs">
          {known.code}
          {known.requestId && ` · request ${known.requestId}`}
        </p>
      )}
    </Notice>
  );
}

/** Takes the place of an empty list: says what it will hold and how to get the first item. */
export function EmptyState({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 rounded-lg border border-dashed px-6 py-12 text-center">
      <Ring size={32} progress={0.12} className="text-quiet" />
      <h2 className="text-lg font-medium">{title}</h2>
      <div className="flex w-full max-w-xl flex-col items-center gap-4 text-quiet">{children}</div>
    </div>
  );
}

export interface QueryViewProps<Value> {
  readonly query: UseQueryResult<Value>;
  /** A placeholder of the same size as the content. */
  readonly skeleton: ReactNode;
  readonly children: (value: Value) => ReactNode;
  /** For a panel without padding. */
  readonly isFlush?: boolean;
  /** Title of the page with the error, for content that is a page. */
  readonly errorTitle?: string;
}

/** Shows the result of a query: a skeleton while it loads, or the error with a retry button. */
export function QueryView<Value>({ query, skeleton, children, isFlush = false, errorTitle }: QueryViewProps<Value>) {
  // Reading again clears the error; it stays on the screen until the answer, which would jump otherwise.
  const lastError = useRef<Error | null>(null);
  lastError.current = query.error ?? lastError.current;
  if (query.data !== undefined) return children(query.data);
  if (lastError.current) {
    const notice = (
      <div className={isFlush ? 'p-3' : undefined}>
        <ErrorNotice error={lastError.current} isRetrying={query.isFetching} onRetry={() => void query.refetch()} />
      </div>
    );
    return errorTitle === undefined ? notice : <Page title={errorTitle}>{notice}</Page>;
  }
  return <Loading>{skeleton}</Loading>;
}

/** Says to screen readers that the content loads, around its placeholder. */
export function Loading({ children }: { readonly children: ReactNode }) {
  return (
    <div aria-busy="true">
      <span role="status" className="sr-only">
        Loading
      </span>
      {children}
    </div>
  );
}

/** Placeholder lines of a skeleton, which `QueryView` or `Loading` announces. */
export function SkeletonLines({ count, className = 'h-10' }: { readonly count: number; readonly className?: string }) {
  return (
    <div aria-hidden className="flex flex-col gap-2">
      {Array.from({ length: count }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are equal and never move.
        <div key={line} className={cn('skeleton', className)} />
      ))}
    </div>
  );
}
