import type { ApprovalMode, MintPreview } from '@flywheel/api';
import { type ProofTypeDraft, parseDraft } from '../proof-types/draft.ts';

/** A registration while the form is filled in. */
export interface RegistrationDraft {
  readonly mint: string;
  /** The token of the mint; null until the service has found a mint that can be registered. */
  readonly token: NonNullable<MintPreview['token']> | null;
  /** Whole tokens per UTC day. */
  readonly burnLimit: string;
  /** Whole tokens per UTC day. */
  readonly airdropLimit: string;
  readonly isBurnAllowed: boolean;
  readonly isAirdropAllowed: boolean;
  readonly proofTypes: readonly ProofTypeDraft[];
  readonly approvalMode: ApprovalMode;
}

/** Initial values: both actions, with limits that keep a mistake small. */
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

/** Props that every step of the form has. */
export interface StepProps {
  readonly draft: RegistrationDraft;
  readonly onChange: (change: Partial<RegistrationDraft>) => void;
  readonly onNext: () => void;
}

/** The scopes and proof types of a draft without issues. */
export function rulesOf({ isBurnAllowed, isAirdropAllowed, proofTypes }: RegistrationDraft) {
  return {
    scopes: [...(isBurnAllowed ? (['burn'] as const) : []), ...(isAirdropAllowed ? (['airdrop'] as const) : [])],
    proofTypes: proofTypes.map(parseDraft).flatMap((parsed) => ('issue' in parsed ? [] : [parsed])),
  };
}
