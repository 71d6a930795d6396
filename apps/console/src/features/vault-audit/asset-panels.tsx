import { pluralize } from '@flywheel/protocol';
import type { AssetTotals } from '@flywheel/sdk';
import { formatBaseUnits } from '../../lib/amounts.ts';
import { cn } from '../../ui/cn.ts';
import { LoadMore } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';

/** Anyone can give a vault accounts of any token. */
const MAX_SHOWN = 6;

/** The totals of each asset, as a sum from the balance at the start of the period to that at its end. */
export function AssetPanels({ assets }: { readonly assets: readonly AssetTotals[] }) {
  const moved = assets.toSorted((a, b) => Number(isIdle(a)) - Number(isIdle(b)));
  const more = moved.slice(MAX_SHOWN);
  return (
    <div className="flex flex-col gap-2">
      <AssetGrid assets={moved.slice(0, MAX_SHOWN)} />
      {more.length > 0 && (
        <LoadMore label={`and ${pluralize(more.length, 'more asset')}`}>{() => <AssetGrid assets={more} />}</LoadMore>
      )}
    </div>
  );
}

function isIdle({ opening, closing, deposited, unexplained }: AssetTotals): boolean {
  return [opening, closing, deposited, unexplained].every((amount) => amount === 0n);
}

function AssetGrid({ assets }: { readonly assets: readonly AssetTotals[] }) {
  return (
    <div className="grid gap-4 md:grid-cols-2">
      {assets.map((asset) => (
        <AssetPanel key={asset.mint} asset={asset} />
      ))}
    </div>
  );
}

const LINES = [
  { name: 'Deposited', of: 'deposited', sign: '+' },
  { name: 'Burned', of: 'burned', sign: '−' },
  { name: 'Airdropped', of: 'airdropped', sign: '−' },
  { name: 'Withdrawn', of: 'withdrawn', sign: '−' },
  { name: 'Rent of recipients’ accounts', of: 'rent', sign: '−' },
  { name: 'Unexplained', of: 'unexplained', sign: '−' },
] as const;

function AssetPanel({ asset }: { readonly asset: AssetTotals }) {
  const { mint, decimals, opening, closing } = asset;
  // Only SOL pays rent, and no proof can burn it.
  const lines = LINES.filter(({ of }) => of !== (mint === null ? 'burned' : 'rent') || asset[of] > 0n);
  const amount = (baseUnits: bigint, sign = '') =>
    `${baseUnits === 0n ? '' : sign}${formatBaseUnits(baseUnits, decimals)}`;
  return (
    <section className="rounded-lg border bg-raised">
      <h3 className="flex min-h-11 items-center px-4 font-semibold">
        {mint === null ? 'SOL' : <AddressText address={mint} of="mint" isLinked />}
      </h3>
      <dl className="tabular flex flex-col gap-1 border-t px-4 py-3">
        <Line name="At the start" value={amount(opening)} />
        {lines.map(({ name, of, sign }) => (
          <Line
            key={of}
            name={name}
            value={amount(asset[of], sign)}
            className={cn(
              asset[of] === 0n && 'text-quiet',
              of === 'unexplained' && asset[of] > 0n && 'font-semibold text-failed',
            )}
          />
        ))}
        <Line name="At the end" value={amount(closing)} className="border-t pt-1 font-semibold" />
      </dl>
    </section>
  );
}

interface LineProps {
  readonly name: string;
  readonly value: string;
  readonly className?: string;
}

function Line({ name, value, className }: LineProps) {
  return (
    <div className={cn('flex flex-wrap justify-between gap-x-4', className)}>
      <dt>{name}</dt>
      <dd className="ml-auto break-all">{value}</dd>
    </div>
  );
}
