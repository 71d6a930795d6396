import { createLink, type LinkComponent, useLocation } from '@tanstack/react-router';
import { type AnchorHTMLAttributes, type ReactNode, type Ref, useLayoutEffect, useRef } from 'react';
import { cn } from './cn.ts';

/**
 * Links to sibling screens, styled as tabs. Links rather than ARIA tabs, because each screen has its own address. On a
 * phone the row scrolls and keeps the current link in view, also after the phone was turned.
 */
export function NavTabs({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const row = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current link changes with the address.
  useLayoutEffect(() => {
    // Sideways only: a phone's window changes its height while a person scrolls, and the page must stay where it is.
    const show = () => {
      const link = row.current?.querySelector('[aria-current=page]')?.parentElement;
      row.current?.scrollTo({ left: link ? link.offsetLeft - (row.current.clientWidth - link.clientWidth) / 2 : 0 });
    };
    show();
    addEventListener('resize', show);
    return () => removeEventListener('resize', show);
  }, [pathname]);
  return (
    <nav ref={row} aria-label={label} className="relative -mx-4 -mt-4 mb-6 overflow-x-auto border-b px-4 print:hidden">
      <ul className="flex gap-1">{children}</ul>
    </nav>
  );
}

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly ref?: Ref<HTMLAnchorElement>;
}

function Anchor({ children, className, ...rest }: AnchorProps) {
  return (
    <li>
      <a
        {...rest}
        className={cn(
          '-mb-px inline-flex h-11 items-center gap-2 border-b-2 px-3 font-medium whitespace-nowrap outline-offset-[-2px]',
          'border-transparent text-quiet hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink',
          className,
        )}
      >
        {children}
      </a>
    </li>
  );
}

/** A link of `NavTabs`. */
export const NavTab: LinkComponent<typeof Anchor> = createLink(Anchor);
