import type { ErrorComponentProps } from '@tanstack/react-router';
import { ButtonLink } from '../ui/button.tsx';
import { EmptyState, ErrorNotice } from '../ui/feedback.tsx';

/** A screen that failed: a fault of this page, or a part of it that could not be loaded. */
export function ErrorPage({ error }: ErrorComponentProps) {
  return (
    <ErrorNotice error={error instanceof Error ? error : new Error(String(error))} onRetry={() => location.reload()} />
  );
}

/** An address with no screen behind it. */
export function NotFoundPage() {
  return (
    <EmptyState title="There is no such screen">
      <p>The address may be mistyped, or from an older version.</p>
      <ButtonLink to="/">To the start</ButtonLink>
    </EmptyState>
  );
}
