import { Moon, Sun } from 'lucide-react';
import { useSyncExternalStore } from 'react';

const THEME_KEY = 'flywheel.theme';
const DARK_QUERY = '(prefers-color-scheme: dark)';

/** Switches between the light and the dark theme. public/first.js applies the stored one before the first paint. */
export function ThemeButton() {
  const isDark = useSyncExternalStore(subscribe, isDarkNow);
  const toggle = () => {
    const theme = isDark ? 'light' : 'dark';
    localStorage.setItem(THEME_KEY, theme);
    applyTheme(theme);
  };
  return (
    <button
      type="button"
      onClick={toggle}
      aria-label={isDark ? 'Use the light theme' : 'Use the dark theme'}
      className="grid size-11 place-items-center md:size-9 rounded text-quiet hover:bg-sunken hover:text-ink"
    >
      {isDark ? <Sun size={17} aria-hidden /> : <Moon size={17} aria-hidden />}
    </button>
  );
}

/** Applies a stored theme; the system's for any other text. */
function applyTheme(stored: string | null): void {
  const { dataset } = document.documentElement;
  if (stored === 'light' || stored === 'dark') dataset.theme = stored;
  else delete dataset.theme;
}

function isDarkNow(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : matchMedia(DARK_QUERY).matches;
}

/** Watches the theme of this page, of the system, and the one that another tab stores, which this page then follows. */
function subscribe(onChange: () => void): () => void {
  const system = matchMedia(DARK_QUERY);
  const page = new MutationObserver(onChange);
  // The key is null when another tab has cleared everything.
  const follow = ({ key, newValue }: StorageEvent) => (key === THEME_KEY || key === null) && applyTheme(newValue);
  system.addEventListener('change', onChange);
  page.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  addEventListener('storage', follow);
  return () => {
    system.removeEventListener('change', onChange);
    page.disconnect();
    removeEventListener('storage', follow);
  };
}
