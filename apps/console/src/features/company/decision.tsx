import type { DecisionSignature } from '@flywheel/api';
import type { DecisionSubject } from '@flywheel/protocol';
import { readGenesisHash } from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react';
import { requireRpcUrl, useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { useSession } from '../../lib/api/session.ts';
import { type DecisionEncoding, signDecision } from '../../lib/wallet/sign-decision.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';

interface FormProps<Reply> {
  /** Shows what the operator decides, and asks for what it lacks. */
  readonly children: ReactNode;
  readonly verb: string;
  readonly tone?: 'primary' | 'danger';
  readonly onDecided: (reply: Reply) => void;
  readonly onClose: () => void;
}

export interface DecisionFormProps<Reply> extends FormProps<Reply> {
  /** null while the operator cannot sign yet. */
  readonly subject: DecisionSubject | null;
  /** Sends what the wallet has signed. */
  readonly send: (signature: DecisionSignature) => Promise<Reply>;
}

/** Form in which a company operator’s wallet signs a decision, which is then sent. */
export function DecisionForm<Reply>({ subject, send, ...props }: DecisionFormProps<Reply>) {
  return <DecisionsForm {...props} decide={subject === null ? null : async (sign) => send(await sign(subject))} />;
}

/** Asks the operator’s wallet to sign a decision. */
export type SignDecision = (subject: DecisionSubject) => Promise<DecisionSignature>;

export interface DecisionsFormProps<Reply> extends FormProps<Reply> {
  /** Signs and sends each decision; null while the operator cannot sign yet. */
  readonly decide: ((sign: SignDecision) => Promise<Reply>) | null;
}

/** The same form for several decisions, one after another. */
export function DecisionsForm<Reply>({
  children,
  decide,
  verb,
  tone = 'primary',
  onDecided,
  onClose,
}: DecisionsFormProps<Reply>) {
  const queries = useQueryClient();
  const sign = useSignDecision();
  const hasLeft = useHasLeft();
  const [encoding, setEncoding] = useState<DecisionEncoding>('message');
  const decision = useMutation({
    mutationFn: (run: NonNullable<typeof decide>) =>
      run(async (subject) => {
        const signature = await sign(subject, encoding);
        // A wallet may still ask, and be answered, after the person has cancelled.
        if (hasLeft()) throw new Error('The decision was cancelled before the wallet signed it: nothing was sent.');
        return signature;
      }),
    onSuccess: (reply) => {
      onDecided(reply);
      return queries.invalidateQueries();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (decide !== null) decision.mutate(decide);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {children}
      <Checkbox checked={encoding === 'memo'} onChange={(isMemo) => setEncoding(isMemo ? 'memo' : 'message')}>
        My wallet signs transactions only: sign a memo transaction, which is never sent
      </Checkbox>
      {decision.error && <ErrorNotice error={decision.error} />}
      <DialogButtons>
        <Button type="submit" tone={tone} isBusy={decision.isPending} disabled={decide === null}>
          {verb}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </DialogButtons>
    </form>
  );
}

/** Returns a function that is true once the component is not shown any more. */
function useHasLeft(): () => boolean {
  const hasLeft = useRef(false);
  useEffect(() => {
    hasLeft.current = false;
    return () => {
      hasLeft.current = true;
    };
  }, []);
  return () => hasLeft.current;
}

/** Returns a function that asks the operator’s wallet to sign a decision for the cluster that this page reads. */
function useSignDecision() {
  const wallet = useSession()?.wallet;
  const environment = useEnvironment();
  return async (subject: DecisionSubject, encoding: DecisionEncoding) => {
    if (wallet === undefined) throw new Error('You are signed out. Sign in, then decide again.');
    const genesisHash = await readGenesisHash(requireRpcUrl(environment));
    return signDecision({ subject, genesisHash, operator: wallet, encoding, chain: walletChain(environment) });
  };
}
