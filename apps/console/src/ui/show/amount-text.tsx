import { withSeparators } from '../../lib/text/amount.ts';

export interface AmountTextProps {
  /** Decimal text, of whatever unit. */
  readonly amount: string;
  readonly unit?: string;
}

/** An exact amount with separators and its unit. */
export function AmountText({ amount, unit }: AmountTextProps) {
  return (
    <span className="tabular">
      {withSeparators(amount)}
      {unit !== undefined && <span className="ml-1 text-[0.85em] font-normal text-quiet">{unit}</span>}
    </span>
  );
}
