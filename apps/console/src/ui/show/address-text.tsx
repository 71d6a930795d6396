import { ExternalLink } from 'lucide-react';
import { explorerLink } from '../../app/explorer.ts';
import { useEnvironment } from '../../lib/service/environment.ts';
import { shorten } from '../../lib/text/shorten.ts';
import { classes } from '../classes.ts';
import { useCopied } from '../copy/use-copied.ts';
import { Hint } from '../hint/hint.tsx';

export interface AddressTextProps {
  readonly address: string;
  /** What it is the address of, for screen readers and the hint. */
  readonly of?: string;
  /** `signature` leads to the transaction in the explorer. */
  readonly kind?: 'address' | 'signature';
  readonly isLinked?: boolean;
  readonly className?: string;
}

/** `7Fq2…9dKe`: the full text on hover, copied with a click. */
export function AddressText({ address, of, kind = 'address', isLinked = false, className }: AddressTextProps) {
  const [isCopied, copy] = useCopied(address);
  const environment = useEnvironment();
  const link = isLinked ? explorerLink(environment, kind, address) : null;
  const name = of ?? kind;
  return (
    <span className={classes('inline-flex items-center gap-1 whitespace-nowrap', className)}>
      <Hint text={isCopied ? 'Copied' : address}>
        <button
          type="button"
          onClick={copy}
          aria-label={`${isCopied ? 'Copied' : 'Copy'} ${name} ${shorten(address)}`}
          className="tabular rounded-sm font-mono text-sm hover:text-accent"
        >
          {shorten(address)}
        </button>
      </Hint>
      {link && (
        <a
          href={link}
          target="_blank"
          rel="noreferrer"
          aria-label={`${name} in the explorer`}
          className="text-quiet hover:text-accent"
        >
          <ExternalLink size={13} aria-hidden />
        </a>
      )}
    </span>
  );
}
