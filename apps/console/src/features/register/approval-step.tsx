import { Button } from '../../ui/button.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';
import type { StepProps } from './draft.ts';

/** How the company’s vote is cast. Your own is always by your wallet. */
export function ApprovalStep({ draft, onChange, onNext }: StepProps) {
  return (
    <div className="flex flex-col gap-5">
      <p className="text-quiet">
        Every batch takes two votes: your wallet’s and the company’s. How does the company cast its own?
      </p>
      <RadioGroup
        label="Company approval"
        value={draft.approvalMode}
        onChange={(approvalMode) => onChange({ approvalMode })}
        options={[
          {
            value: 'automatic',
            title: 'Automatic',
            text: 'At once, when every rule has passed: limits, proofs, funds, simulation. Withdrawals wait for a person.',
          },
          { value: 'manual', title: 'By a person', text: 'An operator of the company looks at every batch first.' },
        ]}
      />
      <div>
        <Button tone="primary" onClick={onNext}>
          Continue
        </Button>
      </div>
    </div>
  );
}
