import type { BatchFailure } from '@flywheel/api';
import { Prose } from '../../ui/show/prose.tsx';
import { Notice } from '../../ui/state/notice.tsx';

/** What is in the way of a batch, or ended it, and what to do about it. */
export function FailureNotice({ failure }: { readonly failure: BatchFailure }) {
  const { message, remedy, code, pipeline, isFinal } = failure;
  return (
    <Notice tone={isFinal ? 'failed' : 'waiting'} title={message}>
      <p>
        <Prose text={remedy} />
      </p>
      {(code !== undefined || pipeline !== undefined) && (
        <p className="mt-1 font-mono text-xs">
          {[code, pipeline === undefined ? undefined : `pipeline ${pipeline}`].filter(Boolean).join(' · ')}
        </p>
      )}
    </Notice>
  );
}
