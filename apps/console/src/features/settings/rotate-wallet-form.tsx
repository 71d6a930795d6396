import { type ProjectOverview, rotationMessage } from '@flywheel/api';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { rotateWallet } from '../../lib/service/treasury.ts';
import { signMessage } from '../../lib/wallet/sign-message.ts';
import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { Button } from '../../ui/form/button.tsx';
import { TextField } from '../../ui/form/field.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';

export interface RotateWalletFormProps {
  readonly project: ProjectOverview;
  readonly onClose: () => void;
}

/** Another wallet for the project: its address, and its word that it takes over. */
export function RotateWalletForm({ project, onClose }: RotateWalletFormProps) {
  const [to, setTo] = useState('');
  const [pasted, setPasted] = useState('');
  const { id: projectId, wallet: from } = project;
  const problem = walletProblem(to, project);
  const text = rotationMessage({ projectId, multisig: project.multisig.address, from, to });
  const ask = useRotate(projectId);
  const isReady = to !== '' && problem === null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) ask.mutate({ to, text, pasted });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4 border-t pt-4">
      <p>
        The new wallet signs that it takes over, then this one and the company approve. From then on the project is the
        new wallet’s: sign in with that. Limits and the vault stay as they are. API keys go on working: revoke those
        that you would not trust any more.
      </p>
      <TextField
        label="Address of the new wallet"
        value={to}
        onChange={({ target }) => setTo(target.value.trim())}
        error={to === '' ? null : problem}
        hint="It may be another account of the wallet in this browser."
        required
      />
      {isReady && (
        <>
          <CodeBlock label="What the new wallet signs" code={text} />
          <TextField
            label="Its signature, if it is not in this browser"
            value={pasted}
            onChange={({ target }) => setPasted(target.value.trim())}
            hint="Base58, over exactly the text above. Leave it empty to be asked here."
          />
        </>
      )}
      {ask.error && <ErrorNotice error={ask.error} />}
      <div className="flex flex-wrap gap-3">
        <Button type="submit" isBusy={ask.isPending} disabled={!isReady}>
          {pasted === '' ? 'Sign with the new wallet' : 'Go on with this signature'}
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Leave it as it is
        </Button>
      </div>
    </form>
  );
}

interface Request {
  readonly to: string;
  readonly text: string;
  /** Empty: to be asked of a wallet in this browser. */
  readonly pasted: string;
}

function useRotate(projectId: string) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ to, text, pasted }: Request) => {
      const signature = pasted === '' ? await signMessage(to, text) : pasted;
      return rotateWallet(projectId, crypto.randomUUID(), { newWallet: to, signature });
    },
    onSuccess: async ({ batchId }) => {
      void queries.invalidateQueries({ queryKey: ['project', projectId] });
      await navigate({ to: '/p/$projectId/approve/$batchId', params: { projectId, batchId } });
    },
  });
}

function walletProblem(text: string, { multisig }: ProjectOverview): string | null {
  if (!isAddress(text)) return 'A Solana address: 32 to 44 letters and digits.';
  if (isOffCurveAddress(text)) return 'No wallet has this address: it belongs to a program.';
  const members: readonly string[] = [multisig.wallet, multisig.company, multisig.operator];
  return members.includes(text) ? 'This one is a member of the multisig already.' : null;
}
