import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';

const GAP_PX = 6;
const MARGIN_PX = 8;

export interface HintBubbleProps {
  readonly id: string;
  /** What it stands above; below where there is no room. */
  readonly of: Element;
  readonly onEnter: () => void;
  readonly onLeave: () => void;
  /** On Escape, and when the page moves away under it. */
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The platform's popover: above everything, dialogs included, and placed without a style that the policy would refuse. */
export function HintBubble({ id, of, onEnter, onLeave, onClose, children }: HintBubbleProps) {
  const bubble = useRef<HTMLDivElement>(null);
  // Again with each text: it may have another width.
  useLayoutEffect(() => {
    if (!bubble.current) return;
    if (!bubble.current.matches(':popover-open')) bubble.current.showPopover();
    place(bubble.current, of.getBoundingClientRect());
  });
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent) => key === 'Escape' && onClose();
    addEventListener('keydown', onKeyDown);
    addEventListener('scroll', onClose, true);
    return () => {
      removeEventListener('keydown', onKeyDown);
      removeEventListener('scroll', onClose, true);
    };
  }, [onClose]);
  return (
    <div
      ref={bubble}
      id={id}
      role="tooltip"
      popover="manual"
      onPointerEnter={onEnter}
      onPointerLeave={onLeave}
      className="arriving fixed inset-auto m-0 max-w-[min(90vw,480px)] rounded bg-ink px-2 py-1 text-xs break-all text-paper"
    >
      {children}
    </div>
  );
}

function place(bubble: HTMLElement, of: DOMRect): void {
  const { offsetWidth, offsetHeight, style } = bubble;
  const above = of.top - GAP_PX - offsetHeight;
  const mostLeft = document.documentElement.clientWidth - MARGIN_PX - offsetWidth;
  const centred = of.left + (of.width - offsetWidth) / 2;
  style.top = `${above < MARGIN_PX ? of.bottom + GAP_PX : above}px`;
  style.left = `${Math.max(MARGIN_PX, Math.min(centred, mostLeft))}px`;
}
