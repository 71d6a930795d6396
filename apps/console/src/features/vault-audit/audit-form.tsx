import { isAddress } from '@flywheel/protocol';
import { parseAuditBound } from '@flywheel/sdk/audit-findings';
import { type SubmitEvent, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { type AuditDraft, readNodeUrl } from './node-url.ts';

/** A draft that is complete, with the origin of its node. */
export interface AuditOrder extends AuditDraft {
  readonly origin: string;
}

export interface AuditFormProps {
  /** URL of the cluster's node; null if the service names none. */
  readonly ownNode: string | null;
  readonly initial: AuditDraft;
  readonly isBusy: boolean;
  /** False while something else is the next step. */
  readonly isPrimary: boolean;
  readonly onAudit: (order: AuditOrder) => void;
}

const MAX_REQUESTS_PER_SECOND = 10_000;

/** Asks for the node and the period. */
export function AuditForm({ ownNode, initial, isBusy, isPrimary, onAudit }: AuditFormProps) {
  const [draft, setDraft] = useState(initial);
  const [rate, setRate] = useState(initial.requestsPerSecond === null ? '' : String(initial.requestsPerSecond));
  const change = (changed: Partial<AuditDraft>) => setDraft({ ...draft, ...changed });
  const node = readNodeUrl(draft.url, ownNode);
  const issues = {
    url: draft.url === '' ? null : node.issue,
    from: boundIssue(draft.from, 'from'),
    to: boundIssue(draft.to, 'to'),
    multisig: draft.multisig === '' || isAddress(draft.multisig) ? null : 'Not a Solana address.',
    rate:
      /^$|^\d{1,5}$/.test(rate) && rate !== '0' && Number(rate) <= MAX_REQUESTS_PER_SECOND
        ? null
        : 'A number from 1 to 10,000.',
  };
  const isReady = node.issue === null && Object.values(issues).every((issue) => issue === null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isReady || node.issue !== null) return;
    onAudit({ ...draft, ...node, requestsPerSecond: rate === '' ? null : Number(rate) });
  };
  return (
    <Panel title="What to audit" className="print:hidden">
      <form onSubmit={submit} className="flex flex-col gap-4">
        <TextField
          label="RPC node"
          type="url"
          placeholder="https://rpc.example.com"
          value={draft.url}
          onChange={({ target }) => change({ url: target.value.trim() })}
          error={issues.url}
          hint="The page may connect to this host and no other. The service learns the host only: a key in the path stays in this tab."
          required
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="From"
            placeholder="2026-01-01"
            value={draft.from}
            onChange={({ target }) => change({ from: target.value.trim() })}
            error={issues.from}
            hint="First day (UTC), time or slot. Empty: the beginning."
          />
          <TextField
            label="To"
            placeholder="2026-03-31"
            value={draft.to}
            onChange={({ target }) => change({ to: target.value.trim() })}
            error={issues.to}
            hint="Last day (UTC), time or slot. Empty: the newest slot."
          />
        </div>
        <details open={issues.multisig !== null || issues.rate !== null || draft.multisig !== ''}>
          <summary className="text-sm text-quiet">More options</summary>
          <div className="mt-3 flex flex-col gap-4">
            <div className="grid gap-4 sm:grid-cols-2">
              <TextField
                label="Multisig"
                value={draft.multisig}
                onChange={({ target }) => change({ multisig: target.value.trim() })}
                error={issues.multisig}
                hint="Needed only while the vault has executed nothing."
              />
              <TextField
                label="Requests per second"
                inputMode="numeric"
                value={rate}
                onChange={({ target }) => setRate(target.value.trim())}
                error={issues.rate}
                hint="Public nodes refuse many. Empty: no limit."
              />
            </div>
            <Checkbox checked={draft.isConfirmed} onChange={(isConfirmed) => change({ isConfirmed })}>
              Also count what is confirmed and not yet finalized
            </Checkbox>
          </div>
        </details>
        <div>
          <Button type="submit" tone={isPrimary ? 'primary' : 'plain'} isBusy={isBusy} disabled={!isReady}>
            Audit
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function boundIssue(text: string, end: 'from' | 'to'): string | null {
  if (text === '' || parseAuditBound(text, end) !== null) return null;
  return 'Enter a day like 2026-01-31, a time like 2026-01-31T12:00:00Z, or a slot.';
}
