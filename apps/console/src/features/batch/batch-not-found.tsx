import { isFlywheelError } from '@flywheel/sdk';
import { ButtonLink } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';

/** True for the answer about a batch that the project does not have. */
export function isNotFound(error: Error | null): boolean {
  return isFlywheelError(error, 'ERR_BATCH_NOT_FOUND');
}

/** Takes the place of every screen of one batch, if the project has no such batch. */
export function BatchNotFound({ projectId }: { readonly projectId: string }) {
  return (
    <Page title="Batch not found">
      <EmptyState title="The project has no such batch">
        <p>The address may be mistyped, or the batch belongs to another project.</p>
        <ButtonLink to="/p/$projectId/batches" params={{ projectId }}>
          All batches
        </ButtonLink>
      </EmptyState>
    </Page>
  );
}
