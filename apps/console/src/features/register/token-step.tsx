import { type MintPreview, REGISTRATION_OPERATIONS } from '@flywheel/api';
import { isAddress, NOT_A_TYPED_ADDRESS } from '@flywheel/protocol';
import { createMint, fundAccount } from '@flywheel/solana-rpc';
import { useIsMutating, useMutation, useQuery } from '@tanstack/react-query';
import type { SubmitEvent } from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { call } from '../../lib/api/call.ts';
import { tokenUnit } from '../../lib/format.ts';
import { useLocalBank } from '../../lib/localnet.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Loading, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AmountText } from '../../ui/text.tsx';
import type { StepProps } from './draft.ts';

/** Covers the rent of a multisig, its lookup table and a few token accounts. */
const FAUCET_LAMPORTS = 2_000_000_000n;
const NEW_TOKEN_DECIMALS = 6;
/** Key of the creation of a token. */
const NEW_TOKEN = ['new-token'];

/** Step 1: the mint, checked against the chain. */
export function TokenStep({ draft, onChange, onNext, wallet }: StepProps & { readonly wallet: string }) {
  const bankUrl = useLocalBank();
  // The new token takes the place of the mint, also on a later step, and so would take the person back to this one.
  const isCreating = useIsMutating({ mutationKey: NEW_TOKEN }) > 0;
  const isWellFormed = isAddress(draft.mint);
  const mint = useQuery({
    queryKey: ['mint', draft.mint],
    queryFn: () => call(REGISTRATION_OPERATIONS.previewMint, { params: { mint: draft.mint } }),
    enabled: isWellFormed,
  });
  const preview = isWellFormed ? mint.data : undefined;
  const usableToken = preview?.problem === undefined ? (preview?.token ?? null) : null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!usableToken) return;
    onChange({ token: usableToken });
    onNext();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-quiet">Which token does this project burn and airdrop? A project has exactly one.</p>
      <TextField
        label="Mint address"
        value={draft.mint}
        onChange={({ target }) => onChange({ mint: target.value.trim(), token: null })}
        error={draft.mint !== '' && !isWellFormed ? `This ${NOT_A_TYPED_ADDRESS}` : null}
        hint="An SPL Token or Token-2022 mint."
        className="[&_input]:font-mono"
        required
      />
      {bankUrl !== null && (
        <LocalFaucet rpcUrl={bankUrl} wallet={wallet} onMint={(created) => onChange({ mint: created, token: null })} />
      )}
      {mint.error && isWellFormed && <ErrorNotice error={mint.error} onRetry={() => void mint.refetch()} />}
      {mint.isFetching && (
        <Loading>
          <SkeletonLines count={1} className="h-40" />
        </Loading>
      )}
      {preview && !mint.isFetching && <MintDetails preview={preview} />}
      <div>
        <Button type="submit" tone="primary" disabled={!usableToken || isCreating}>
          Continue
        </Button>
      </div>
    </form>
  );
}

/** Shows the mint’s data on chain, with warnings and the reason if it cannot be registered. */
function MintDetails({ preview: { token, problem, warnings, costLamports } }: { readonly preview: MintPreview }) {
  return (
    <div className="flex flex-col gap-3">
      {problem !== undefined && <Notice tone="failed" title={problem} />}
      {token && (
        <DescriptionList
          items={[
            ...(token.name === undefined ? [] : [{ name: 'Name on chain', value: nameOf(token) }]),
            { name: 'Supply', value: <AmountText amount={token.supply} unit={tokenUnit(token)} /> },
            { name: 'Decimals', value: token.decimals },
            { name: 'Program', value: token.program === 'token-2022' ? 'Token-2022' : 'SPL Token' },
            ...(problem === undefined ? [{ name: 'Registration cost', value: formatSol(costLamports) }] : []),
          ]}
        />
      )}
      {warnings.map((warning) => (
        <Notice key={warning} tone="waiting" title={warning} />
      ))}
    </div>
  );
}

function nameOf({ name = '', symbol }: NonNullable<MintPreview['token']>): string {
  return symbol === undefined || symbol === '' ? name : `${name} (${symbol})`;
}

interface LocalFaucetProps {
  readonly rpcUrl: string;
  readonly wallet: string;
  readonly onMint: (mint: string) => void;
}

function LocalFaucet({ rpcUrl, wallet, onMint }: LocalFaucetProps) {
  const faucet = useMutation({ mutationFn: () => fundAccount(rpcUrl, { address: wallet, lamports: FAUCET_LAMPORTS }) });
  const token = useMutation({
    mutationKey: NEW_TOKEN,
    mutationFn: async () => {
      const mint = await createMint(rpcUrl, { decimals: NEW_TOKEN_DECIMALS });
      await fundAccount(rpcUrl, { address: wallet, lamports: FAUCET_LAMPORTS });
      return mint;
    },
    onSuccess: onMint,
  });
  const error = faucet.error ?? token.error;
  return (
    <Notice tone="plain" title="This is a local cluster: its tokens and SOL have no value">
      <div className="mt-2 flex flex-wrap gap-2">
        <Button size="small" isBusy={token.isPending} onClick={() => token.mutate()}>
          Create a token
        </Button>
        <Button size="small" isBusy={faucet.isPending} onClick={() => faucet.mutate()}>
          {faucet.isSuccess ? 'Received 2 SOL. Get more' : 'Get 2 SOL'}
        </Button>
      </div>
      {error && <ErrorNotice error={error} />}
    </Notice>
  );
}
