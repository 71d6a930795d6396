import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useEffect, useInsertionEffect, useState } from 'react';
import { useEnvironment } from '../../lib/api/environment.ts';
import { Button } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { EmptyState, Notice } from '../../ui/feedback.tsx';
import { useHeadingFocus } from '../../ui/focus-heading.ts';
import { Page } from '../../ui/layout.tsx';
import { useLeaveQuestion } from '../../ui/leave-question.ts';
import { Ring } from '../../ui/ring.tsx';
import { SignInDialog } from '../session/sign-in-dialog.tsx';
import { SignedIn } from '../session/signed-in.tsx';
import { EMPTY_DRAFT, firstOpenStep, keepDraft, type RegistrationDraft, recallDraft, STEPS } from './draft.ts';
import { type RegistrationStage, ReviewStep } from './review-step.tsx';
import { ApprovalStep, LimitsStep, ProofTypesStep } from './rule-steps.tsx';
import { TokenStep } from './token-step.tsx';

/** Registers a project in five steps: token, limits, proof types, company approval, review. */
export function Register() {
  const registration = useEnvironment()?.registration;
  if (registration === 'closed') return <Closed />;
  return <SignedIn prompt={<SignedOut />}>{(wallet) => <Steps wallet={wallet} />}</SignedIn>;
}

function Steps({ wallet }: { readonly wallet: string }) {
  const registration = useEnvironment()?.registration;
  const [draft, setDraft] = useState(() => recallDraft(wallet));
  const [stage, setStage] = useState<RegistrationStage>('draft');
  const [step, goTo] = useStep(draft, stage);
  useLeaveQuestion({
    question: 'This project is not registered yet. Leave without what you have entered?',
    isNeeded: stage === 'signed' || (stage === 'draft' && draft !== EMPTY_DRAFT),
    nextPath: '/register',
  });
  // Like the question, it outlasts the end of the session, which stops all other effects. A draft that is signed is not
  // kept: the project may exist, and a second registration would be paid for too.
  useInsertionEffect(() => {
    if (stage !== 'draft' || draft === EMPTY_DRAFT) return;
    return keepDraft({ wallet, draft });
  }, [wallet, draft, stage]);
  useHeadingFocus(`${stage} ${step}`, 'main h2');
  const props = {
    draft,
    onChange: (change: Partial<RegistrationDraft>) => setDraft((current) => ({ ...current, ...change })),
    onNext: () => goTo(step + 1),
  };
  const screens: readonly ReactNode[] = [
    <TokenStep key="token" {...props} wallet={wallet} />,
    <LimitsStep key="limits" {...props} />,
    <ProofTypesStep key="types" {...props} />,
    <ApprovalStep key="approval" {...props} />,
    <ReviewStep key="review" draft={draft} wallet={wallet} onStage={setStage} />,
  ];
  return (
    <Page title="Register a project">
      <div className="grid grid-cols-1 gap-6 md:grid-cols-[180px_1fr] md:gap-10">
        <StepList current={stage === 'created' ? STEPS.length : step} onGoTo={stage === 'draft' ? goTo : null} />
        <div className="flex max-w-2xl min-w-0 flex-col gap-5">
          {registration === 'approval' && <NeedsAdmission />}
          {stage !== 'created' && <h2 className="text-lg font-semibold">{STEPS[step]}</h2>}
          {screens[step]}
        </div>
      </div>
    </Page>
  );
}

/**
 * Reads and changes the step that is shown. The address has it, so that the browser’s Back returns to the step before. It is
 * never after a step without its input, and the last one once the registration is signed.
 */
function useStep(draft: RegistrationDraft, stage: RegistrationStage): [step: number, goTo: (step: number) => void] {
  const navigate = useNavigate({ from: '/register' });
  const { step: number } = useSearch({ from: '/register' });
  const asked = Math.max(
    0,
    STEPS.findIndex((_, step) => number === String(step + 1)),
  );
  const last = stage === 'draft' ? firstOpenStep(draft) : STEPS.length - 1;
  useEffect(() => {
    // Otherwise the next step would be shown as soon as this one’s input is valid, while the person types.
    if (asked > last) void navigate({ search: searchOf(last), replace: true });
  }, [navigate, asked, last]);
  return [stage === 'draft' ? Math.min(asked, last) : last, (step) => void navigate({ search: searchOf(step) })];
}

function searchOf(step: number): { readonly step?: string } {
  return step === 0 ? {} : { step: String(step + 1) };
}

/** Stands above every step, so that it is read before the wallet pays. */
function NeedsAdmission() {
  return (
    <Notice tone="waiting" title="The company must admit the project">
      Until it does, the project can create no batches. It may decline: what the registration costs is then lost.
    </Notice>
  );
}

function Closed() {
  return (
    <Page title="Register a project">
      <EmptyState title="Registration is closed">
        <p>Ask the company that runs this service. Existing projects keep working.</p>
      </EmptyState>
    </Page>
  );
}

interface StepListProps {
  /** The number of steps, once all are done. */
  readonly current: number;
  /** Null once the registration is signed: the screen with the key, which is shown only once, must stay. */
  readonly onGoTo: ((step: number) => void) | null;
}

function StepList({ current, onGoTo }: StepListProps) {
  return (
    <nav aria-label="Steps">
      <div className="flex min-h-8 items-center gap-2 text-sm text-quiet md:hidden">
        <Ring size={18} progress={Math.min(1, (current + 1) / STEPS.length)} className="text-accent" />
        {current < STEPS.length ? `Step ${current + 1} of ${STEPS.length}` : 'Created'}
        {current > 0 && onGoTo && (
          <Button size="small" className="ml-auto" onClick={() => onGoTo(current - 1)}>
            <ArrowLeft size={14} aria-hidden /> Back
          </Button>
        )}
      </div>
      <ol className="hidden flex-col gap-1 md:flex">
        {STEPS.map((name, step) => (
          <li key={name}>
            <button
              type="button"
              disabled={step >= current || onGoTo === null}
              aria-current={step === current ? 'step' : undefined}
              onClick={() => onGoTo?.(step)}
              className={cn(
                'flex h-9 w-full items-center gap-3 rounded px-2 text-left',
                step === current ? 'font-medium text-ink' : 'text-quiet',
                step < current && onGoTo && 'hover:bg-sunken',
              )}
            >
              <Ring
                size={18}
                progress={step < current ? 1 : step === current ? 0.5 : 0}
                className={step <= current ? 'text-accent' : 'text-quiet'}
              />
              {name}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function SignedOut() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Page title="Register a project">
      <EmptyState title="Sign in first">
        <p>The wallet that you sign in with approves every batch of the project.</p>
        <Button onClick={() => setOpen(true)}>Connect wallet</Button>
      </EmptyState>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </Page>
  );
}
