import { CatchBoundary, Link, Outlet } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { SessionExpiryBanner } from '../features/session/session-expiry-banner.tsx';
import { SignOutBanner } from '../features/session/sign-out-banner.tsx';
import { WalletMenu } from '../features/session/wallet-menu.tsx';
import { type Environment, useEnvironment } from '../lib/api/environment.ts';
import { isAuditDocument } from '../lib/document-policy.ts';
import { loadCode } from '../lib/load-code.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/feedback.tsx';
import { Ring } from '../ui/ring.tsx';
import { MainMenu } from './main-menu.tsx';
import { useShortcuts } from './shortcuts.ts';
import { StaleBanner } from './stale-banner.tsx';
import { ThemeButton } from './theme-button.tsx';
import { useTitleFocus } from './title-focus.ts';

const Palette = lazy(async () => ({ default: (await loadCode(() => import('./palette.tsx'))).Palette }));

/** The shortcut of the palette, as the keyboard of this computer has it. */
const PALETTE_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';

/** Frames every screen: header, main menu, command palette and, but for audits, wallet menu. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const environment = useEnvironment();
  useShortcuts({ onPalette: () => setPaletteOpen(true) });
  useTitleFocus();
  useLocalWallet(environment);
  const isMainnet = environment === undefined || environment.cluster === 'mainnet';
  return (
    <>
      <a href="#main" className="sr-only z-50 rounded bg-raised px-3 py-2 focus:not-sr-only focus:absolute focus:m-2">
        Skip to content
      </a>
      <header className="sticky top-0 z-20 border-b print:hidden bg-paper/95 backdrop-blur-sm">
        <div className="mx-auto flex h-14 max-w-6xl items-center gap-1 px-4 md:gap-3">
          <Link to="/" className="flex h-11 min-w-6 md:h-10 items-center gap-2 font-semibold tracking-tight">
            <Ring size={22} className="text-accent" />
            {/* A phone has room for one of the two, and must say that this is not the cluster where tokens have value. */}
            <span className={isMainnet ? undefined : 'max-sm:sr-only'}>Flywheel</span>
          </Link>
          {!isMainnet && <span className="rounded-sm border px-1.5 text-xs text-quiet">{environment.cluster}</span>}
          <MainMenu />
          <div className="ml-auto flex items-center gap-1 sm:gap-1.5">
            <button
              type="button"
              onClick={() => setPaletteOpen(true)}
              className="flex h-11 min-w-11 items-center justify-center gap-2 rounded border bg-raised px-2.5 md:h-9 text-sm text-quiet hover:text-ink"
            >
              <Search size={15} aria-hidden />
              <span className="sr-only md:not-sr-only">Find</span>
              <kbd className="hidden font-mono text-xs lg:inline">{PALETTE_KEYS}</kbd>
            </button>
            <ThemeButton />
            {!isAuditDocument && <WalletMenu />}
          </div>
        </div>
        {!isAuditDocument && <SessionExpiryBanner />}
        {!isAuditDocument && <SignOutBanner />}
        <StaleBanner />
      </header>
      <main id="main" className="mx-auto max-w-6xl px-4 py-6 md:py-8">
        <Outlet />
      </main>
      {isPaletteOpen && (
        <CatchBoundary
          getResetKey={() => 'palette'}
          errorComponent={({ error }) => (
            <Dialog title="Find" isOpen onClose={() => setPaletteOpen(false)}>
              <ErrorNotice error={error instanceof Error ? error : new Error(String(error))} />
            </Dialog>
          )}
        >
          <Suspense>
            <Palette onClose={() => setPaletteOpen(false)} />
          </Suspense>
        </CatchBoundary>
      )}
    </>
  );
}

/** Registers the test wallet while the service runs on a local cluster. */
function useLocalWallet(environment: Environment | undefined): void {
  useEffect(() => {
    if (!environment?.isLocal || isAuditDocument) return;
    let unregister: (() => void) | null = null;
    let isCleanedUp = false;
    // A dynamic import, so that on any other cluster no wallet that signs without asking is ever loaded.
    void import('../lib/wallet/local-wallet.ts').then(({ registerLocalWallet }) => {
      if (!isCleanedUp) unregister = registerLocalWallet();
    });
    return () => {
      isCleanedUp = true;
      unregister?.();
    };
  }, [environment]);
}
