import { Moon, Sun } from 'lucide-react';
import { useState } from 'react';

const KEY = 'flywheel.theme';

/** Day or night, whatever the system says; public/first.js applies it before the first paint. */
export function ThemeButton() {
  const [isDark, setDark] = useState(prefersDark);
  const toggle = () => {
    const theme = isDark ? 'light' : 'dark';
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
    setDark(!isDark);
  };
  return (
    <button
      type="button"
      onClick={toggle}
      aria-label={isDark ? 'Use the light theme' : 'Use the dark theme'}
      className="grid size-9 place-items-center rounded text-quiet hover:bg-sunken hover:text-ink"
    >
      {isDark ? <Sun size={17} aria-hidden /> : <Moon size={17} aria-hidden />}
    </button>
  );
}

function prefersDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}
