import type { ApprovalMode, MintPreview } from '@flywheel/api';
import type { ProofTypeDraft } from '../proof-types/proof-type-draft.ts';

/** A registration as it is being filled in. */
export interface RegistrationDraft {
  readonly mint: string;
  /** What the chain says of it; null until a mint was found that can be registered. */
  readonly token: NonNullable<MintPreview['token']> | null;
  readonly burnLimit: string;
  readonly airdropLimit: string;
  readonly isBurnAllowed: boolean;
  readonly isAirdropAllowed: boolean;
  readonly proofTypes: readonly ProofTypeDraft[];
  readonly approvalMode: ApprovalMode;
}

/** What the form begins with: both kinds of action, a limit that does little harm. */
export const EMPTY_DRAFT: RegistrationDraft = {
  mint: '',
  token: null,
  burnLimit: '1000',
  airdropLimit: '1000',
  isBurnAllowed: true,
  isAirdropAllowed: true,
  proofTypes: [],
  approvalMode: 'automatic',
};

/** What every step of the registration gets. */
export interface StepProps {
  readonly draft: RegistrationDraft;
  readonly onChange: (change: Partial<RegistrationDraft>) => void;
  readonly onNext: () => void;
}
