import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from './button.tsx';

/** Code to copy, for example terminal commands. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }) {
  return (
    <figure className="rounded border bg-sunken">
      <figcaption className="flex items-center justify-between gap-3 border-b px-3 py-1.5 text-xs text-quiet">
        <span className="min-w-0 wrap-anywhere">{label}</span>
        <CopyButton text={code} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-xs leading-5">
        <code>{code}</code>
      </pre>
    </figure>
  );
}

/** A button that copies a text and confirms it. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isCopied, copy] = useCopied(text);
  return (
    <Button onClick={copy} size="small">
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </Button>
  );
}

/** Long enough to read “Copied”, short enough to copy again. */
const CONFIRMATION_MS = 1_500;

/** Copies a text to the clipboard; `isCopied` stays true for a moment. */
export function useCopied(text: string): readonly [isCopied: boolean, copy: () => void] {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), CONFIRMATION_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return [isCopied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))];
}
