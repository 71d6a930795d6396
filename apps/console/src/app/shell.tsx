import { Link, Outlet } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { SessionExpiryBanner } from '../features/session/session-expiry-banner.tsx';
import { WalletMenu } from '../features/session/wallet-menu.tsx';
import { type Environment, useEnvironment } from '../lib/api/environment.ts';
import { Ring } from '../ui/ring.tsx';
import { MainMenu } from './main-menu.tsx';
import { ThemeButton } from './theme-button.tsx';
import { useShortcuts } from './use-shortcuts.ts';

const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }));

/** What stands around every screen. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const environment = useEnvironment();
  useShortcuts({ onPalette: () => setPaletteOpen(true) });
  useLocalWallet(environment);
  return (
    <>
      <a href="#main" className="sr-only z-50 rounded bg-raised px-3 py-2 focus:not-sr-only focus:absolute focus:m-2">
        To the content
      </a>
      <header className="sticky top-0 z-20 border-b bg-paper/95 backdrop-blur-sm">
        <div className="mx-auto flex h-14 max-w-6xl items-center gap-1 px-4 md:gap-3">
          <Link to="/" className="flex items-center gap-2 font-semibold tracking-tight">
            <Ring size={22} className="text-accent" />
            Flywheel
          </Link>
          {environment && environment.cluster !== 'mainnet' && (
            <span className="hidden rounded-sm border px-1.5 text-xs text-quiet sm:inline">{environment.cluster}</span>
          )}
          <MainMenu />
          <div className="ml-auto flex items-center gap-1.5">
            <button
              type="button"
              onClick={() => setPaletteOpen(true)}
              className="flex h-9 items-center gap-2 rounded border bg-raised px-2.5 text-sm text-quiet hover:text-ink"
            >
              <Search size={15} aria-hidden />
              <span className="sr-only md:not-sr-only">Find</span>
              <kbd className="hidden font-mono text-xs md:inline">⌘K</kbd>
            </button>
            <ThemeButton />
            <WalletMenu />
          </div>
        </div>
        <SessionExpiryBanner />
      </header>
      <main id="main" className="mx-auto max-w-6xl px-4 py-6 md:py-8">
        <Outlet />
      </main>
      {isPaletteOpen && (
        <Suspense>
          <Palette onClose={() => setPaletteOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Announces the wallet that this page brings itself, where the cluster is a local one. */
function useLocalWallet(environment: Environment | undefined): void {
  useEffect(() => {
    if (!environment?.isLocal) return;
    let unregister: (() => void) | null = null;
    let isOver = false;
    // Only where it is needed: no other cluster ever loads a wallet that signs without asking.
    void import('../lib/wallet/local-wallet.ts').then(({ registerLocalWallet }) => {
      if (!isOver) unregister = registerLocalWallet();
    });
    return () => {
      isOver = true;
      unregister?.();
    };
  }, [environment]);
}
