import { useEffect, useState } from 'react';

/** Long enough to be read, short enough to copy again. */
const SAID_MS = 1_500;

/** Copies a text to the clipboard; says for a moment that it did. */
export function useCopied(text: string): readonly [isCopied: boolean, copy: () => void] {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return [isCopied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))];
}
