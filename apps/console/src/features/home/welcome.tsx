import { Link } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { currentSample, initSample } from '../../lib/samples.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Ring } from '../../ui/ring.tsx';
import { SignInDialog } from '../session/sign-in-dialog.tsx';

/** Introduction for visitors: what the service does, how to sign in, and a working example. */
export function Welcome() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    document.title = 'Flywheel';
  }, []);
  return (
    <div className="grid gap-10 py-6 md:grid-cols-[1.1fr_1fr] md:items-center md:gap-14 md:py-14">
      <div className="flex flex-col items-start gap-6">
        <Ring size={56} className="text-accent" />
        <h1 className="text-2xl font-semibold tracking-tight md:text-3xl">
          Burns and airdrops, approved by two, provable by anyone.
        </h1>
        <p className="max-w-lg text-lg text-quiet">
          Send what your users did. Your wallet and the company approve each batch. The chain keeps the proof.
        </p>
        <div className="flex flex-wrap gap-3">
          <Button tone="primary" onClick={() => setOpen(true)}>
            Connect wallet
          </Button>
          <Link
            to="/proof"
            className="inline-flex h-11 items-center gap-1 px-2 font-medium text-accent underline-offset-4 hover:underline md:h-9"
          >
            Check a proof
          </Link>
          <a
            href="/docs"
            className="inline-flex h-11 items-center gap-1 px-2 font-medium text-accent underline-offset-4 hover:underline md:h-9"
          >
            Docs <ArrowUpRight size={15} aria-hidden />
          </a>
        </div>
        <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
      </div>
      <div className="flex min-w-0 flex-col gap-5">
        <CodeBlock
          label="With the API key from your registration"
          code={`KEY=fwk_…\n${initSample()}\n${currentSample()}`}
        />
        <ol className="grid gap-3 text-quiet">
          {STEPS.map(({ name, text }, position) => (
            <li key={name} className="flex items-center gap-3">
              <Ring size={20} progress={(position + 1) / STEPS.length} className="text-accent" />
              <span>
                <strong className="font-medium text-ink">{name}.</strong> {text}
              </span>
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

const STEPS = [
  { name: 'Compile', text: 'Each pipeline becomes one transaction that starts with its proof memo.' },
  { name: 'Approve', text: 'You review what is on chain, then sign. Nothing moves before both approvals.' },
  { name: 'Execute', text: 'Every pipeline runs from your vault, exactly once.' },
];
