// Runs before the first paint, so that a chosen theme does not flash. A file, since the page allows no inline script.
const theme = localStorage.getItem('flywheel.theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
