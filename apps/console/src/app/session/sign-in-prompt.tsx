import { useState } from 'react';
import { Button } from '../../ui/form/button.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';

/** In place of a screen that is for who is signed in; the screen comes back by itself. */
export function SignInPrompt() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Empty title="Sign in to see this">
        <p>You are signed out, or your session of 12 hours is over. You come back to this screen.</p>
        <Button tone="primary" onClick={() => setOpen(true)}>
          Connect wallet
        </Button>
      </Empty>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}
