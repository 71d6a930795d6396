import { useNavigate } from '@tanstack/react-router';
import { explorerLink, useEnvironment } from '../../lib/api/environment.ts';
import { shorten } from '../../lib/format.ts';
import { type Go, PaletteItem } from './palette-item.tsx';

/** 64 bytes in base58. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
/** 32 bytes in base58. */
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** What can be done with an address or a signature that was typed or pasted. */
export function ChainItems({ text, go }: { readonly text: string; readonly go: Go }) {
  const navigate = useNavigate();
  const environment = useEnvironment();
  const kind = SIGNATURE.test(text) ? 'signature' : ADDRESS.test(text) ? 'address' : null;
  if (kind === null) return null;
  const link = explorerLink(environment, kind, text);
  return (
    <>
      {kind === 'signature' ? (
        <PaletteItem
          value={`proof ${text}`}
          onSelect={go(() => navigate({ to: '/proof', search: { signature: text } }))}
        >
          What does {shorten(text)} prove?
        </PaletteItem>
      ) : (
        <PaletteItem
          value={`vault ${text}`}
          onSelect={go(() => navigate({ to: '/vault/$address', params: { address: text } }))}
        >
          The vault {shorten(text)}
        </PaletteItem>
      )}
      {link !== null && (
        <PaletteItem value={`explorer ${text}`} onSelect={go(() => window.open(link, '_blank', 'noreferrer'))}>
          {shorten(text)} in the explorer
        </PaletteItem>
      )}
    </>
  );
}
