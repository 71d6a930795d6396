import type { ApprovalMode, MintPreview } from '@flywheel/api';
import { limitIssue } from '../../lib/amounts.ts';
import { findDraftIssue, type ProofTypeDraft, parseDraft } from '../proof-types/draft.ts';

/** A registration while the form is filled in. */
export interface RegistrationDraft {
  readonly mint: string;
  /** The token of the mint; null until the person has gone on with a mint that can be registered. */
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

/** Key in the storage of the tab, which lives through a reload. A draft holds no secret. */
const STORAGE_KEY = 'flywheel.registration';

interface KeptDraft {
  readonly wallet: string;
  readonly draft: RegistrationDraft;
}

/** Reads the draft that this tab keeps of a wallet; the initial values if it keeps none. */
export function recallDraft(wallet: string): RegistrationDraft {
  const text = sessionStorage.getItem(STORAGE_KEY);
  if (text === null) return EMPTY_DRAFT;
  const kept: KeptDraft = JSON.parse(text); // written by keepDraft
  // An older release of the page may have written fewer fields.
  return kept.wallet === wallet ? { ...EMPTY_DRAFT, ...kept.draft } : EMPTY_DRAFT;
}

/** Keeps a draft in this tab, instead of the one before. @returns a function that forgets it. */
export function keepDraft(kept: KeptDraft): () => void {
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(kept));
  return () => sessionStorage.removeItem(STORAGE_KEY);
}

/** The steps of the form, in order. */
export const STEPS = ['Token', 'Limits', 'Proof types', 'Approval', 'Review'] as const;

/** Position of the first step whose input is missing or invalid; the last step reviews all others. */
export function firstOpenStep(draft: RegistrationDraft): number {
  if (draft.token === null) return STEPS.indexOf('Token');
  if (!hasValidLimits(draft)) return STEPS.indexOf('Limits');
  return STEPS.indexOf(findDraftIssue(draft.proofTypes) === null ? 'Review' : 'Proof types');
}

/** True when a draft allows burns or airdrops, and both limits are amounts of its token. */
export function hasValidLimits(draft: RegistrationDraft): boolean {
  const { token, burnLimit, airdropLimit, isBurnAllowed, isAirdropAllowed } = draft;
  const issues = [burnLimit, airdropLimit].map((limit) => limitIssue(limit, token?.decimals ?? 0));
  return issues.every((issue) => issue === null) && (isBurnAllowed || isAirdropAllowed);
}

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
