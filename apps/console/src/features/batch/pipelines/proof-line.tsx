import type { Pipeline } from '@flywheel/api';
import { proofMemo } from '@flywheel/sdk';
import { useEffect, useState } from 'react';
import { CopyButton } from '../../../ui/copy/copy-button.tsx';
import { StateMark } from '../../../ui/show/state-mark.tsx';

export interface ProofLineProps {
  readonly pipeline: Pick<Pipeline, 'type' | 'payload'>;
  /** As the service says that the transaction carries it. */
  readonly memo: string;
}

/** A pipeline’s proof memo, its hash worked out again on this page. */
export function ProofLine({ pipeline: { type, payload }, memo }: ProofLineProps) {
  const [expected, setExpected] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    void proofMemo({ type, payload }).then((found) => {
      if (!isOver) setExpected(found);
    });
    return () => {
      isOver = true;
    };
  }, [type, payload]);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        {expected !== null && <Verdict isSame={expected === memo} />}
        <CopyButton text={memo} label="Copy the memo" />
      </div>
      <code className="rounded border bg-sunken px-2 py-1.5 font-mono text-xs break-all">{memo}</code>
      {expected !== null && expected !== memo && (
        <p className="text-sm break-all text-failed">Type and payload hash to {expected}.</p>
      )}
    </div>
  );
}

function Verdict({ isSame }: { readonly isSame: boolean }) {
  return isSame ? (
    <StateMark state="done" word="Hash recomputed here: it matches" />
  ) : (
    <StateMark state="failed" word="Hash recomputed here: it differs" />
  );
}
