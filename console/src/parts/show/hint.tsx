import { Tooltip } from 'radix-ui';
import type { ReactElement } from 'react';

/** Words that appear on hover and on focus. */
export function Hint({ text, children }: { readonly text: string; readonly children: ReactElement }) {
  return (
    <Tooltip.Root delayDuration={200}>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={6}
          collisionPadding={8}
          className="arriving z-50 max-w-[min(90vw,480px)] rounded bg-ink px-2 py-1 text-xs break-all text-paper"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
