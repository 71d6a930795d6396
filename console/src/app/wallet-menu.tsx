import { useNavigate } from '@tanstack/react-router';
import { LogOut, Wallet } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import { Button } from '../parts/form/button.tsx';
import { useSession, useSignOut } from '../service/session.ts';
import { shorten } from '../text/shorten.ts';
import { SignInDialog } from './sign-in-dialog.tsx';

/** Who is signed in, and the way in and out. */
export function WalletMenu() {
  const session = useSession();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  if (!session) {
    return (
      <>
        <Button tone={session === undefined ? 'quiet' : 'plain'} onClick={() => setOpen(true)}>
          <Wallet size={15} aria-hidden />
          Connect<span className="hidden sm:inline"> wallet</span>
        </Button>
        <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
      </>
    );
  }
  const leave = () => signOut.mutate(undefined, { onSuccess: () => void navigate({ to: '/' }) });
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button aria-label={`Signed in as ${session.wallet}`}>
          <Wallet size={15} aria-hidden />
          <span className="font-mono text-sm">{shorten(session.wallet)}</span>
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className="arriving z-40 min-w-52 rounded border bg-raised p-1"
        >
          <DropdownMenu.Item onSelect={() => void navigator.clipboard.writeText(session.wallet)} className={ITEM}>
            Copy address
          </DropdownMenu.Item>
          <DropdownMenu.Item onSelect={() => void navigate({ to: '/' })} className={ITEM}>
            Your projects
          </DropdownMenu.Item>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item onSelect={leave} className={ITEM}>
            <LogOut size={15} aria-hidden /> Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const ITEM = 'flex h-9 cursor-pointer items-center gap-2 rounded-sm px-2.5 outline-none data-[highlighted]:bg-sunken';
