import { CircleAlert, CircleCheck, Clock } from 'lucide-react';
import { cn } from './cn.ts';
import { Ring } from './ring.tsx';
import { STATUS_COLORS, type Status } from './status.ts';

/** Shows a status as an icon and a label in the colour of the status. */
export function StatusBadge({ status, label }: { readonly status: Status; readonly label: string }) {
  return (
    <span className={cn('inline-flex items-center gap-1.5 font-medium sm:whitespace-nowrap', STATUS_COLORS[status])}>
      <StatusIcon status={status} />
      {label}
    </span>
  );
}

/** Shows the icon alone, for places where the label stands beside it. */
export function StatusIcon({ status, size = 16 }: { readonly status: Status; readonly size?: number }) {
  const props = { size, 'aria-hidden': true, className: cn('shrink-0', STATUS_COLORS[status]) };
  switch (status) {
    case 'waiting':
      return <Clock {...props} />;
    case 'running':
      return <Ring size={size} progress={0.7} isSpinning className={STATUS_COLORS.running} />;
    case 'done':
      return <CircleCheck {...props} />;
    case 'failed':
      return <CircleAlert {...props} />;
    default:
      return status satisfies never;
  }
}
