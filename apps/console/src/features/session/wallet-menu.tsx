import { shorten } from '@flywheel/protocol';
import { useNavigate } from '@tanstack/react-router';
import { Check, Copy, FolderOpen, LogOut, Wallet } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useSession, useSignOut } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { COPY_WORDS, useCopied } from '../../ui/copy.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';

const MENU_ID = 'wallet-menu';

/** Shows the signed-in wallet with its menu, or a button to connect one. */
export function WalletMenu() {
  const session = useSession();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  if (!session) {
    return (
      <>
        <Button tone={session === undefined ? 'quiet' : 'plain'} className="max-sm:px-2" onClick={() => setOpen(true)}>
          <Wallet size={15} aria-hidden className="hidden sm:block" />
          <span>
            Connect<span className="hidden sm:inline"> wallet</span>
          </span>
        </Button>
        <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
      </>
    );
  }
  const signOutAndGoHome = () => signOut.mutate(undefined, { onSuccess: () => void navigate({ to: '/' }) });
  return (
    <>
      <Button popoverTarget={MENU_ID} className="max-sm:px-2" aria-label={`Signed in as ${shorten(session.wallet)}`}>
        <Wallet size={15} aria-hidden className="hidden sm:block" />
        {/* The narrowest phones have no room for more than the beginning, beside the name of a cluster. */}
        <span className="overflow-hidden font-mono text-sm max-[359px]:w-[5ch]">{shorten(session.wallet)}</span>
      </Button>
      {/* The browser’s popover closes on Escape and on a click elsewhere, and returns the focus. */}
      <div
        id={MENU_ID}
        popover="auto"
        className="fixed inset-auto top-13 right-[max(16px,calc(50vw-36rem+16px))] m-0 min-w-52 rounded border bg-raised p-1 text-ink"
      >
        <CopyAddressItem wallet={session.wallet} />
        <MenuItem onSelect={() => void navigate({ to: '/' })}>
          <FolderOpen size={15} aria-hidden /> Your projects
        </MenuItem>
        <MenuItem onSelect={signOutAndGoHome}>
          <LogOut size={15} aria-hidden /> Sign out
        </MenuItem>
      </div>
    </>
  );
}

/** Stays open, so that it can say how copying ended. */
function CopyAddressItem({ wallet }: { readonly wallet: string }) {
  const [result, copy] = useCopied(wallet);
  return (
    <MenuItem onSelect={copy} staysOpen>
      {result === 'copied' ? <Check size={15} aria-hidden /> : <Copy size={15} aria-hidden />}
      <span aria-live="polite">{result === null ? 'Copy address' : COPY_WORDS[result]}</span>
    </MenuItem>
  );
}

interface MenuItemProps {
  readonly onSelect: () => void;
  /** Keeps the menu open. */
  readonly staysOpen?: boolean;
  readonly children: ReactNode;
}

function MenuItem({ onSelect, staysOpen = false, children }: MenuItemProps) {
  return (
    <button
      type="button"
      {...(!staysOpen && { popoverTarget: MENU_ID, popoverTargetAction: 'hide' })}
      onClick={onSelect}
      className="flex h-11 w-full items-center gap-2.5 rounded-sm px-2.5 text-left hover:bg-sunken md:h-9"
    >
      {children}
    </button>
  );
}
