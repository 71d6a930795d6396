import { Link, type LinkProps } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import { useSession } from '../lib/api/session.ts';

const MENU_ID = 'main-menu';

/** Links to the screens outside of a project: a row on a desktop, a menu button on a phone. */
export function MainMenu() {
  const session = useSession();
  const links: readonly { readonly to: LinkProps['to']; readonly name: string }[] = [
    ...(session ? ([{ to: '/', name: 'Projects' }] as const) : []),
    { to: '/proof', name: 'Check a proof' },
    ...(session?.isCompanyOperator ? ([{ to: '/company', name: 'Company' }] as const) : []),
  ];
  return (
    <nav aria-label="Main" className="contents">
      <ul className="hidden items-center gap-1 md:flex">
        {links.map(({ to, name }) => (
          <li key={name}>
            <Link to={to} activeOptions={{ exact: to === '/' }} className={`${LINK} h-9 px-2.5`}>
              {name}
            </Link>
          </li>
        ))}
        <li>
          <DocsLink className={`${LINK} h-9 px-2.5`} />
        </li>
      </ul>
      <button
        type="button"
        popoverTarget={MENU_ID}
        aria-label="Menu"
        className="grid size-11 place-items-center rounded text-quiet hover:text-ink md:hidden"
      >
        <Menu size={18} aria-hidden />
      </button>
      <ul
        id={MENU_ID}
        popover="auto"
        className="fixed inset-auto top-13 left-4 m-0 min-w-52 rounded border bg-raised p-1 text-ink md:hidden"
      >
        {links.map(({ to, name }) => (
          <li key={name}>
            <Link to={to} onClick={closeMenu} className={`${LINK} h-11 px-3`}>
              {name}
            </Link>
          </li>
        ))}
        <li>
          <DocsLink className={`${LINK} h-11 px-3`} />
        </li>
      </ul>
    </nav>
  );
}

const LINK =
  'flex items-center rounded-sm whitespace-nowrap text-quiet hover:bg-sunken hover:text-ink aria-[current=page]:font-medium aria-[current=page]:text-ink';

/** A plain link: the service serves the docs, outside of this application. */
function DocsLink({ className }: { readonly className: string }) {
  return (
    <a href="/docs" className={className}>
      Docs
    </a>
  );
}

function closeMenu(): void {
  document.getElementById(MENU_ID)?.hidePopover();
}
