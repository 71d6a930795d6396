import {
  cloneElement,
  type HTMLAttributes,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { createPortal } from 'react-dom';

export interface TooltipProps {
  readonly text: string;
  /** One element, which says in itself what the hint only adds to. */
  readonly children: ReactElement<HTMLAttributes<Element>>;
}

/** Words that appear on hover and on focus, and stay while the pointer is on them (WCAG 1.4.13). */
export function Tooltip({ text, children }: TooltipProps) {
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

/** A pointer that only passes by opens nothing. */
const OPEN_AFTER_MS = 200;
/** Time for the pointer to come from what was hovered to what it opened. */
const CLOSE_AFTER_MS = 120;

export interface Hover {
  /** What the pointer rests on; null while it rests on nothing. */
  readonly over: Element | null;
  readonly enter: (element: Element, afterMs?: number) => void;
  readonly leave: () => void;
  readonly close: () => void;
}

/** On what the pointer rests. */
export function useHover(): Hover {
  const [over, setOver] = useState<Element | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (to: Element | null, afterMs: number) => {
    clearTimeout(timer.current);
    if (afterMs === 0) setOver(to);
    else timer.current = setTimeout(() => setOver(to), afterMs);
  };
  return {
    over,
    enter: (element, afterMs = OPEN_AFTER_MS) => change(element, afterMs),
    leave: () => change(null, CLOSE_AFTER_MS),
    close: () => change(null, 0),
  };
}
