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
  const [result, copy] = useCopied(text);
  return (
    <Button onClick={copy} size="small">
      {result === 'copied' ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      <span aria-live="polite">{result === null ? label : COPY_WORDS[result]}</span>
    </Button>
  );
}

/** `failed`: the browser does not let the page write to the clipboard. */
export type CopyResult = 'copied' | 'failed';

/** Says to a person how copying ended. */
export const COPY_WORDS = { copied: 'Copied', failed: 'Could not copy. Select it yourself.' } as const;

/** Long enough to read the words, short enough to copy again. */
const SHOWN_MS = { copied: 1_500, failed: 6_000 } as const;

/** Copies a text to the clipboard; the result stays for a moment, otherwise it is null. */
export function useCopied(text: string): readonly [result: CopyResult | null, copy: () => void] {
  const [result, setResult] = useState<CopyResult | null>(null);
  useEffect(() => {
    if (result === null) return;
    const timer = setTimeout(() => setResult(null), SHOWN_MS[result]);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setResult('copied');
    } catch {
      setResult('failed');
    }
  };
  return [result, () => void copy()];
}
