import { Command } from 'cmdk';
import type { ReactNode } from 'react';

/** Makes a handler that closes the palette and then runs a command. */
export type Run = (command: () => unknown) => () => void;

interface ItemProps {
  /** Text that the search matches; unique in the palette. */
  readonly value: string;
  /** The key that does the same after `g`. */
  readonly shortcut?: string | null;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

/** A line of the command palette. */
export function Item({ value, shortcut = null, onSelect, children }: ItemProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-11 items-center md:min-h-10 justify-between gap-4 rounded px-3 data-[selected=true]:bg-sunken"
    >
      <span className="min-w-0 truncate">{children}</span>
      <kbd className="shrink-0 font-mono text-xs text-quiet max-md:hidden">{shortcut && `g ${shortcut}`}</kbd>
    </Command.Item>
  );
}
