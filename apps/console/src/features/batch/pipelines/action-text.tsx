import { decimalOf } from '@flywheel/sdk';
import { withSeparators } from '../../../lib/text/amount.ts';
import { classes } from '../../../ui/classes.ts';
import { AddressText } from '../../../ui/show/address-text.tsx';
import type { ShownAction } from './shown-action.ts';

/** One action in words, led by its colour. */
export function ActionText({ action }: { readonly action: ShownAction }) {
  switch (action.action) {
    case 'BURN':
      return (
        <>
          <Kind className="bg-ember" word="Burn" />
          <Amount amount={decimalOf(action.amount)} />
        </>
      );
    case 'AIRDROP':
      return (
        <>
          <Kind className="bg-tide" word="Airdrop" />
          <AddressText address={action.toAddress} of="recipient" isLinked />
          <Amount amount={decimalOf(action.amount)} />
        </>
      );
    case 'MEMO':
      return (
        <>
          <Kind className="bg-slate" word="Memo" />
          <span className="min-w-0 truncate text-right" title={action.message}>
            {action.message}
          </span>
        </>
      );
    case 'WITHDRAW':
      return (
        <>
          <Kind className="bg-ink" word="Withdraw" />
          <AddressText address={action.toAddress} of="recipient" isLinked />
          <Amount amount={action.amount} unit={action.asset === 'SOL' ? 'SOL' : 'tokens'} />
        </>
      );
    case 'ROTATE':
      return (
        <>
          <Kind
            className="bg-ink"
            word={action.approver === 'wallet' ? 'Replace the wallet' : 'Replace the company’s approver'}
          />
          <AddressText address={action.from} of="who votes now" />
          <span aria-hidden>→</span>
          <AddressText address={action.to} of="who votes from then on" />
        </>
      );
    default:
      return action satisfies never;
  }
}

function Kind({ className, word }: { readonly className: string; readonly word: string }) {
  return (
    <span className="inline-flex flex-1 items-center gap-2">
      <span aria-hidden className={classes('size-2 rounded-full', className)} />
      {word}
    </span>
  );
}

function Amount({ amount, unit }: { readonly amount: string; readonly unit?: string }) {
  return (
    <span className="tabular min-w-24 text-right font-medium">
      {withSeparators(amount)}
      {unit && ` ${unit}`}
    </span>
  );
}
