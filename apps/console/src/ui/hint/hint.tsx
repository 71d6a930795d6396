import { cloneElement, type HTMLAttributes, type PointerEvent, type ReactElement, useId } from 'react';
import { createPortal } from 'react-dom';
import { HintBubble } from './hint-bubble.tsx';
import { useHover } from './use-hover.ts';

export interface HintProps {
  readonly text: string;
  /** One element, which says in itself what the hint only adds to. */
  readonly children: ReactElement<HTMLAttributes<Element>>;
}

/** Words that appear on hover and on focus, and stay while the pointer is on them (WCAG 1.4.13). */
export function Hint({ text, children }: HintProps) {
  const id = useId();
  const { over, enter, leave, close } = useHover();
  const described = cloneElement(children, {
    'aria-describedby': over === null ? undefined : id,
    onPointerEnter: (event: PointerEvent) => {
      // A finger has no hover: what it touches acts.
      if (event.pointerType !== 'touch') enter(event.currentTarget);
    },
    onPointerLeave: leave,
    onFocus: ({ currentTarget }) => {
      if (currentTarget.matches(':focus-visible')) enter(currentTarget, 0);
    },
    onBlur: close,
  });
  return (
    <>
      {described}
      {over &&
        createPortal(
          <HintBubble id={id} of={over} onEnter={() => enter(over, 0)} onLeave={leave} onClose={close}>
            {text}
          </HintBubble>,
          document.body,
        )}
    </>
  );
}
