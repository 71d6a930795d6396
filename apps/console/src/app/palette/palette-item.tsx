import { Command } from 'cmdk';
import type { ReactNode } from 'react';

/** Closes the palette, then does what is given. */
export type Go = (action: () => unknown) => () => void;

export interface PaletteItemProps {
  /** What it is found by; no two alike. */
  readonly value: string;
  /** After `g` it does the same. */
  readonly letter?: string | null;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

/** One thing that was found. */
export function PaletteItem({ value, letter = null, onSelect, children }: PaletteItemProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-10 items-center justify-between gap-4 rounded px-3 data-[selected=true]:bg-sunken"
    >
      <span className="min-w-0 truncate">{children}</span>
      <kbd className="shrink-0 font-mono text-xs text-quiet max-md:hidden">{letter && `g ${letter}`}</kbd>
    </Command.Item>
  );
}
