import { CopyButton } from './copy-button.tsx';

/** Lines to paste into a terminal. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }) {
  return (
    <figure className="rounded border bg-sunken">
      <figcaption className="flex items-center justify-between border-b px-3 py-1.5 text-xs text-quiet">
        {label}
        <CopyButton text={code} />
      </figcaption>
      {/* Scrollable by keyboard as well. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-xs leading-5">
        <code>{code}</code>
      </pre>
    </figure>
  );
}
