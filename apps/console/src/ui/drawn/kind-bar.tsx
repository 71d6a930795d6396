export interface KindCounts {
  readonly burns: number;
  readonly airdrops: number;
  readonly memos: number;
}

/** The mix of what a batch does: burns, airdrops, memos, each in its colour; said in words as well. */
export function KindBar({ burns, airdrops, memos }: KindCounts) {
  const parts = [
    { name: 'burns', count: burns, className: 'fill-ember' },
    { name: 'airdrops', count: airdrops, className: 'fill-tide' },
    { name: 'memos', count: memos, className: 'fill-slate' },
  ].filter(({ count }) => count > 0);
  const total = burns + airdrops + memos;
  let from = 0;
  return (
    <svg
      role="img"
      aria-label={parts.map(({ name, count }) => `${count} ${name}`).join(', ') || 'nothing'}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      className="h-2 w-full min-w-16 overflow-hidden rounded-full bg-sunken"
    >
      {parts.map(({ name, count, className }) => {
        const x = from;
        from += (count / total) * 100;
        return <rect key={name} x={x} width={from - x} height="8" className={className} />;
      })}
    </svg>
  );
}
