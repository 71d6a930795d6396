// Runs before everything else on the page. A file, because the page's policy allows no inline scripts.

// Applies the stored theme before the first paint, so that the page does not flash.
const theme = localStorage.getItem('flywheel.theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;

// Zod compiles schemas to code when they are created, which the policy forbids. z.config() would run too late for that.
globalThis.__zod_globalConfig = { jitless: true };
