// Runs before all else of the page, as a file, since the page's policy allows no inline script.

// A theme that was chosen, before the first paint: it would flash.
const theme = localStorage.getItem('flywheel.theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;

// The policy lets no schema compile itself to code, and they would try as soon as they are made. As z.config() has it,
// which would come too late.
globalThis.__zod_globalConfig = { jitless: true };
