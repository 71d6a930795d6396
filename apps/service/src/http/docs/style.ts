/** Style of the guide: a light and a dark theme, one accent, an 8-point grid, system fonts. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fcfbf9; --sheet: #f5f3ef; --ink: #1d1c1a; --quiet: #6b6862; --line: #e3e0d9;
  --accent: #2f5d8a;
  --sans: ui-sans-serif, system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #141412; --sheet: #1c1b19; --ink: #ebe8e1; --quiet: #9b978e; --line: #2e2c29;
    --accent: #8fb7e3;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 24px; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/24px var(--sans); }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
code, pre { font-family: var(--mono); font-size: 13px; font-variant-ligatures: none; }
p { margin: 0 0 16px; max-width: 68ch; text-wrap: pretty; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 16px; top: 16px; }

.top { display: none; }
.page { display: grid; grid-template-columns: 264px minmax(0, 1fr); max-width: 1376px; margin: 0 auto; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 40px 24px 40px 32px; border-right: 1px solid var(--line); font-size: 14px; }
nav h2 { margin: 24px 0 8px; font-size: 12px; line-height: 16px; font-weight: 600; color: var(--quiet); letter-spacing: .04em; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { overflow-wrap: anywhere; display: flex; gap: 8px; padding: 4px 0; line-height: 20px; color: inherit; }
nav li span { min-width: 0; overflow-wrap: anywhere; }
nav li a:hover { color: var(--accent); text-decoration: none; }
.brand { display: flex; align-items: center; gap: 12px; font-weight: 600; font-size: 16px; color: inherit; }
.brand:hover { text-decoration: none; }
.brand svg { width: 24px; height: 24px; }

main { padding: 40px 48px 120px; min-width: 0; }
h1 { margin: 0 0 16px; font-size: 32px; line-height: 40px; font-weight: 600; letter-spacing: -.015em; }
h3 { margin: 0 0 8px; font-size: 19px; line-height: 28px; font-weight: 600; letter-spacing: -.005em; }
h4 { margin: 24px 0 0; font-size: 13px; line-height: 24px; font-weight: 600; }

pre { margin: 0 0 16px; padding: 16px; max-height: 60vh; overflow: auto; background: var(--sheet); border: 1px solid var(--line); border-radius: 6px; line-height: 20px; font-size: 12.5px; tab-size: 2; }
pre code { font-size: inherit; }

nav li a[aria-current] { color: var(--accent); font-weight: 600; }
article { max-width: 816px; }
article h2 { margin: 48px 0 16px; padding-top: 24px; border-top: 1px solid var(--line); font-size: 24px; line-height: 32px; font-weight: 600; letter-spacing: -.01em; }
article h3 { margin: 32px 0 8px; }
article h1, article h2, article h3 { overflow-wrap: anywhere; }
article h1 code, article h2 code, article h3 code { font-size: .85em; }
article p, article ul, article ol { max-width: 76ch; }
article ul, article ol { margin: 0 0 16px; padding-left: 24px; }
article li { padding-left: 4px; }
article li + li { margin-top: 8px; }
article li > :last-child { margin-bottom: 0; }
article li > p, article li > pre, article li > ul { margin-top: 8px; }
article code { overflow-wrap: anywhere; }
article pre code { overflow-wrap: normal; }
article pre.whole { max-height: none; }
article img { display: block; width: 100%; height: auto; margin: 8px 0 24px; }
article blockquote { margin: 0 0 16px; padding: 0 0 0 16px; border-left: 2px solid var(--accent); color: var(--quiet); }
.anchor { float: left; width: 24px; margin-left: -24px; color: var(--quiet); opacity: 0; }
h2:hover > .anchor, h3:hover > .anchor { opacity: 1; }
.anchor:hover { text-decoration: none; }
:target > .anchor { opacity: 1; color: var(--accent); }
thead:not(:has(th:not(:empty))) { display: none; }
.table { margin: 0 0 24px; overflow-x: auto; }
.table:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: 14px; line-height: 20px; }
th { text-align: left; font-weight: 600; color: var(--quiet); white-space: nowrap; }
th, td { padding: 8px 16px 8px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
td { min-width: 64px; }
td:first-child code { white-space: nowrap; }

@media (max-width: 800px) {
  .top { display: flex; justify-content: space-between; align-items: center; padding: 16px 24px; border-bottom: 1px solid var(--line); }
  .page { display: flex; flex-direction: column; }
  nav { order: 1; position: static; height: auto; padding: 24px; border-right: 0; border-top: 1px solid var(--line); }
  nav .brand { display: none; }
  nav ul { columns: 2; }
  td:first-child code { white-space: normal; }
  main { padding: 24px 24px 80px; }
  h1 { font-size: 26px; line-height: 32px; }
}
@media (max-width: 480px) { nav ul { columns: 1; } }
@media print { nav, .top { display: none; } .page { display: block; } pre { max-height: none; } }
`;
