import { X } from 'lucide-react';
import { createContext, type ReactNode, useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';

export interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

const HoldContext = createContext<(isHeld: boolean) => void>(() => undefined);

/**
 * Keeps the dialog around a component open while that is shown: only the component’s own button closes it.
 * @param isHeld false while the person may close it.
 */
export function useHeldDialog(isHeld = true): void {
  const hold = useContext(HoldContext);
  useEffect(() => {
    if (!isHeld) return;
    hold(true);
    return () => hold(false);
  }, [hold, isHeld]);
}

/**
 * A modal dialog on the browser’s `<dialog>`, which keeps the focus inside, closes on Escape, returns the focus and makes
 * the page behind it inert. Not Radix: measured in November 2026, its dialog, menu and tooltip add 32 kB of compressed
 * JavaScript to a first page of 162 kB that may have 175 kB, and its scroll lock inserts a `<style>` that the
 * Content-Security-Policy rejects.
 */
export function Dialog({ title, isOpen, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [isHeld, setHeld] = useState(false);
  /** True for a dialog that the page has closed, and not the person. */
  const isPutAway = useRef(false);
  // Before the browser takes a dialog off the page with the part around it: one that is gone returns no focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element || !isOpen) return;
    isPutAway.current = false;
    element.showModal();
    return () => {
      // Also when the session ends, which hides the screen: the browser keeps a page inert behind a dialog that it does not show.
      isPutAway.current = true;
      element.close();
    };
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      closedby={isHeld ? 'none' : 'closerequest'}
      // A browser that does not know `closedby` asks on the first Escape, and closes on the second one, whatever a page says.
      onCancel={(event) => {
        if (isHeld) event.preventDefault();
      }}
      onClose={({ currentTarget }) => {
        if (isPutAway.current || currentTarget.open) return;
        if (isHeld && isOpen) currentTarget.showModal();
        else onClose();
      }}
      aria-labelledby={titleId}
      // A dialog in a table cell must not inherit the cell’s text style.
      className="m-auto scroll-py-20 text-left whitespace-normal w-[min(560px,calc(100vw-32px))] rounded-lg border bg-raised p-0 text-ink open:arriving"
    >
      {isOpen && (
        <>
          <div className="sticky top-0 z-10 flex items-center justify-between gap-3 border-b bg-raised px-5 py-2">
            <h2 id={titleId} className="min-w-0 text-lg font-semibold break-words">
              {title}
            </h2>
            {!isHeld && (
              <button
                type="button"
                onClick={onClose}
                aria-label="Close"
                className="-mr-2 grid size-11 shrink-0 place-items-center rounded text-quiet hover:text-ink md:size-8"
              >
                <X size={18} aria-hidden />
              </button>
            )}
          </div>
          <div className="p-5">
            <HoldContext value={setHeld}>{children}</HoldContext>
          </div>
        </>
      )}
    </dialog>
  );
}

/** The buttons at the end of a dialog, always in view: only what stands above them scrolls. */
export function DialogButtons({ children }: { readonly children: ReactNode }) {
  return (
    <div className="sticky bottom-0 z-10 -mx-5 -mb-5 flex flex-wrap gap-3 border-t bg-raised px-5 py-3">{children}</div>
  );
}
