import { Link, type LinkProps } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import type { ReactNode } from 'react';
import { useSession } from '../lib/session.ts';

const MENU = 'main-menu';

/** The places that belong to no project: in a row, or on a phone behind a button. */
export function MainMenu() {
  const session = useSession();
  const places: readonly { readonly to: LinkProps['to']; readonly name: string }[] = [
    ...(session ? ([{ to: '/', name: 'Projects' }] as const) : []),
    { to: '/proof', name: 'Check a proof' },
    ...(session?.isCompanyOperator ? ([{ to: '/company', name: 'Company' }] as const) : []),
  ];
  return (
    <nav aria-label="Main" className="contents">
      <ul className="hidden items-center gap-1 md:flex">
        {places.map(({ to, name }) => (
          <li key={name}>
            <Link to={to} activeOptions={{ exact: to === '/' }} className={`${PLACE} h-9 px-2.5`}>
              {name}
            </Link>
          </li>
        ))}
        <li>
          <Docs className={`${PLACE} h-9 px-2.5`} />
        </li>
      </ul>
      <button
        type="button"
        popoverTarget={MENU}
        aria-label="Menu"
        className="grid size-10 place-items-center rounded text-quiet hover:text-ink md:hidden"
      >
        <Menu size={18} aria-hidden />
      </button>
      <ul
        id={MENU}
        popover="auto"
        className="fixed inset-auto top-13 left-4 m-0 min-w-52 rounded border bg-raised p-1 text-ink md:hidden"
      >
        {places.map(({ to, name }) => (
          <Entry key={name}>
            <Link to={to} onClick={closeMenu} className={`${PLACE} h-11 px-3`}>
              {name}
            </Link>
          </Entry>
        ))}
        <Entry>
          <Docs className={`${PLACE} h-11 px-3`} />
        </Entry>
      </ul>
    </nav>
  );
}

const PLACE =
  'flex items-center rounded-sm text-quiet hover:bg-sunken hover:text-ink aria-[current=page]:font-medium aria-[current=page]:text-ink';

function Entry({ children }: { readonly children: ReactNode }) {
  return <li>{children}</li>;
}

/** Served by the service itself, outside of this page. */
function Docs({ className }: { readonly className: string }) {
  return (
    <a href="/docs" className={className}>
      Docs
    </a>
  );
}

function closeMenu(): void {
  document.getElementById(MENU)?.hidePopover();
}
