import type { ShardFailure } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { companyQuery } from '../../lib/api/company.ts';
import { Button } from '../../ui/button.tsx';
import { Notice, sentenceOf } from '../../ui/feedback.tsx';
import { ShardSignInDialog } from '../session/sign-in-dialog.tsx';

interface MissingShardsProps {
  readonly failures: readonly ShardFailure[];
}

/** Names the shards of which nothing is shown, and has the operator sign in there if that is the reason. */
export function MissingShards({ failures }: MissingShardsProps) {
  return failures.length === 0 ? null : (
    <div className="flex flex-col gap-4">
      {failures.map((failure) => (
        <MissingShard key={failure.shard} failure={failure} />
      ))}
    </div>
  );
}

/** Names the shards that a list lacks, except those that the page names already. */
export function MissingInList({ failures }: MissingShardsProps) {
  const named = useQuery({ ...companyQuery, refetchInterval: false }).data?.missing ?? [];
  const byShard = new Map(failures.map((failure) => [failure.shard, failure]));
  for (const { shard } of named) byShard.delete(shard);
  return <MissingShards failures={[...byShard.values()]} />;
}

function MissingShard({ failure: { shard, error } }: { readonly failure: ShardFailure }) {
  const [isOpen, setOpen] = useState(false);
  const title = `Shard ${shard} is missing on this page`;
  if (!isFlywheelError(error, 'ERR_UNAUTHORIZED')) {
    return (
      <Notice tone="waiting" title={title}>
        {error instanceof Error ? sentenceOf(error) : 'It does not answer.'}
      </Notice>
    );
  }
  return (
    <>
      <Notice
        tone="waiting"
        title={title}
        action={
          <Button size="small" onClick={() => setOpen(true)}>
            Sign in to shard {shard}
          </Button>
        }
      >
        Each shard of the service has sessions of its own, of 12 hours.
      </Notice>
      <ShardSignInDialog shard={shard} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}
