import { ExternalLink } from 'lucide-react';
import { useEffect, useState } from 'react';
import { loadSignIn, useSignIn } from '../../lib/session.ts';
import { LOCAL_WALLET_NAME, type SolanaWallet, useWallets } from '../../lib/wallet/wallets.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState, ErrorNotice } from '../../ui/feedback.tsx';
import { Ring } from '../../ui/ring.tsx';

export interface SignInDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Chooses a wallet and signs in with it. Signing in moves nothing. */
export function SignInDialog({ isOpen, onClose }: SignInDialogProps) {
  const wallets = useWallets();
  const signIn = useSignIn();
  useEffect(() => {
    // Asked for again when a wallet is chosen, which says what stands against it.
    if (isOpen) loadSignIn().catch(() => null);
  }, [isOpen]);
  return (
    <Dialog title="Sign in with your wallet" isOpen={isOpen} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p className="text-quiet">You sign a message that names this site. It costs nothing and moves nothing.</p>
        {signIn.error && <ErrorNotice error={signIn.error} />}
        {wallets.length === 0 && <NoWallet />}
        <ul className="flex flex-col gap-2">
          {wallets.map((wallet) => (
            <li key={wallet.name}>
              <WalletChoice
                wallet={wallet}
                isBusy={signIn.isPending && signIn.variables === wallet}
                onChoose={() => signIn.mutate(wallet, { onSuccess: onClose })}
              />
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

interface WalletChoiceProps {
  readonly wallet: SolanaWallet;
  readonly isBusy: boolean;
  readonly onChoose: () => void;
}

function WalletChoice({ wallet, isBusy, onChoose }: WalletChoiceProps) {
  const isLocal = wallet.name === LOCAL_WALLET_NAME;
  return (
    <button
      type="button"
      onClick={onChoose}
      disabled={isBusy}
      className="flex min-h-14 w-full items-center gap-3 rounded border px-3 py-2 text-left hover:border-line-strong hover:bg-sunken"
    >
      {isLocal ? (
        <Ring size={28} className="text-accent" />
      ) : (
        <img src={wallet.icon} alt="" width={28} height={28} className="rounded" />
      )}
      <span className="flex-1">
        <span className="block font-medium">{wallet.name}</span>
        {isLocal && (
          <span className="block text-sm text-quiet">
            For this local cluster only: signs without asking, holds nothing real.
          </span>
        )}
      </span>
      {isBusy && <Ring size={18} progress={0.7} isSpinning className="text-accent" label="Waiting for the wallet" />}
    </button>
  );
}

function NoWallet() {
  return (
    <p>
      This browser has no Solana wallet.{' '}
      <a
        href="https://solana.com/solana-wallets"
        target="_blank"
        rel="noreferrer"
        className="inline-flex items-center gap-1 text-accent underline underline-offset-2"
      >
        Get one <ExternalLink size={13} aria-hidden />
      </a>{' '}
      and come back: it appears here by itself.
    </p>
  );
}

/** In place of a screen that is for who is signed in; the screen comes back by itself. */
export function SignInPrompt() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <EmptyState title="Sign in to see this">
        <p>You are signed out, or your session of 12 hours is over. You come back to this screen.</p>
        <Button tone="primary" onClick={() => setOpen(true)}>
          Connect wallet
        </Button>
      </EmptyState>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}
