import { ExternalLink } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { loadSignIn, useSignIn, useSignInToShard } from '../../lib/api/session.ts';
import { LOCAL_WALLET_NAME, type SolanaWallet, useWallets } from '../../lib/wallet/wallets.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState, ErrorNotice } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';

export interface SignInDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Signs in with one of the browser’s wallets. */
export function SignInDialog(props: SignInDialogProps) {
  return <WalletDialog {...props} signIn={useSignIn()} />;
}

/** Signs the same wallet in to one more shard. */
export function ShardSignInDialog({ shard, ...props }: SignInDialogProps & { readonly shard: number }) {
  return <WalletDialog {...props} signIn={useSignInToShard(shard)} />;
}

function WalletDialog({
  isOpen,
  onClose,
  signIn,
}: SignInDialogProps & { readonly signIn: ReturnType<typeof useSignIn> }) {
  const wallets = useWallets();
  const attempt = useRef(new AbortController());
  useEffect(() => {
    if (!isOpen) return;
    // Preloads the code. The click loads it again and reports an error.
    loadSignIn().catch(() => null);
    return () => attempt.current.abort();
  }, [isOpen]);
  const select = (wallet: SolanaWallet) => {
    attempt.current.abort();
    attempt.current = new AbortController();
    signIn.mutate({ wallet, signal: attempt.current.signal }, { onSuccess: onClose });
  };
  // A wallet whose window was closed may never answer: who opens the dialog again can ask it again.
  const close = () => {
    signIn.reset();
    onClose();
  };
  return (
    <Dialog title="Sign in with your wallet" isOpen={isOpen} onClose={close}>
      <div className="flex flex-col gap-4">
        <p className="text-quiet">You sign a message that names this site. This costs nothing and moves no funds.</p>
        {signIn.error && <ErrorNotice error={signIn.error} />}
        {wallets.length === 0 && <NoWallet />}
        <ul className="flex flex-col gap-2">
          {wallets.map((wallet) => (
            <li key={wallet.name}>
              <WalletButton
                wallet={wallet}
                isBusy={signIn.isPending && signIn.variables.wallet === wallet}
                onSelect={() => select(wallet)}
              />
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

interface WalletButtonProps {
  readonly wallet: SolanaWallet;
  readonly isBusy: boolean;
  readonly onSelect: () => void;
}

function WalletButton({ wallet, isBusy, onSelect }: WalletButtonProps) {
  const isLocal = wallet.name === LOCAL_WALLET_NAME;
  return (
    <button
      type="button"
      // Not `disabled`, for the reason in `Button`: it would take the focus away while the wallet waits.
      onClick={isBusy ? undefined : onSelect}
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy}
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
            For this local cluster only. It signs without asking and holds no real funds.
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
        Install one <ExternalLink size={13} aria-hidden />
      </a>{' '}
      and return here: it appears automatically.
    </p>
  );
}

/** Takes the place of a screen that needs a session; the screen returns after signing in. */
export function SignInPrompt() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Page title="Sign in">
      <EmptyState title="Sign in to continue">
        <p>You are signed out, or your session of 12 hours has expired. You return to this page after signing in.</p>
        <Button tone="primary" onClick={() => setOpen(true)}>
          Connect wallet
        </Button>
      </EmptyState>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </Page>
  );
}
