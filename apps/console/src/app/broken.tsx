import type { ErrorComponentProps } from '@tanstack/react-router';
import { ButtonLink } from '../ui/form/button.tsx';
import { Empty } from '../ui/state/empty.tsx';
import { ErrorNotice } from '../ui/state/notice.tsx';

/** A screen that failed: a fault of this page, or a part of it that could not be loaded. */
export function Broken({ error }: ErrorComponentProps) {
  return (
    <ErrorNotice error={error instanceof Error ? error : new Error(String(error))} onRetry={() => location.reload()} />
  );
}

/** An address with no screen behind it. */
export function Nowhere() {
  return (
    <Empty title="There is no such screen">
      <p>The address may be mistyped, or from an older version.</p>
      <ButtonLink to="/">To the start</ButtonLink>
    </Empty>
  );
}
