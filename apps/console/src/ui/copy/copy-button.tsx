import { Check, Copy } from 'lucide-react';
import { Button } from '../form/button.tsx';
import { useCopied } from './use-copied.ts';

/** Copies a text, and says so. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isCopied, copy] = useCopied(text);
  return (
    <Button onClick={copy} size="small">
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </Button>
  );
}
