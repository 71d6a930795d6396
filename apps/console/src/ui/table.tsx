import type { ReactNode } from 'react';
import { cn } from './cn.ts';

export interface Column<Row> {
  readonly name: string;
  /** A card on a phone leaves a value of null out. */
  readonly render: (row: Row) => ReactNode;
  /** Aligns the column to the right, with digits of equal width. */
  readonly isAmount?: boolean;
  /** Omits the column’s name on a phone, for values that need none. */
  readonly isPlain?: boolean;
  /** Omits the column on a phone. */
  readonly isExtra?: boolean;
  /** Makes the column as narrow as its content. */
  readonly isNarrow?: boolean;
}

export interface TableProps<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Content below a row, as wide as the table. */
  readonly under?: (row: Row) => ReactNode;
}

/**
 * A table whose rows become cards on a phone. It sets its roles explicitly, because browsers drop the implicit ones when
 * CSS changes the display of a table.
 */
export function Table<Row>({ label, columns, rows, keyOf, under }: TableProps<Row>) {
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: CSS changes the display, which removes the implicit roles.
    <table role="table" aria-label={label} className="w-full text-left max-md:block">
      <thead role="rowgroup" className="max-md:sr-only">
        <tr role="row" className="border-b text-xs text-quiet">
          {columns.map(({ name, isAmount }) => (
            <th
              key={name}
              role="columnheader"
              scope="col"
              className={cn('px-4 py-2 font-medium whitespace-nowrap md:max-lg:px-3', isAmount && 'text-right')}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      {rows.map((row) => {
        const below = under?.(row);
        return (
          <tbody key={keyOf(row)} role="rowgroup" className="border-b last:border-b-0 max-md:block max-md:py-2">
            <tr role="row" className="max-md:block">
              {columns.map((column) => (
                <Cell key={column.name} column={column} row={row} />
              ))}
            </tr>
            {below && (
              <tr role="row" className="max-md:block">
                <td role="cell" colSpan={columns.length} className="px-4 pb-3 max-md:block max-md:pt-2.5">
                  {below}
                </td>
              </tr>
            )}
          </tbody>
        );
      })}
    </table>
    // biome-ignore-end lint/a11y/noRedundantRoles: see above.
  );
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const { name, render, isAmount, isPlain, isNarrow, isExtra } = column;
  const content = render(row);
  return (
    <td
      // biome-ignore lint/a11y/noRedundantRoles: CSS changes the display, which removes the implicit role.
      role="cell"
      className={cn(
        'px-4 py-2.5 align-middle max-md:min-h-11 max-md:flex-wrap max-md:items-center max-md:justify-between max-md:gap-x-4 max-md:py-1',
        isExtra || content === null ? 'max-md:hidden' : 'max-md:flex',
        // An upright tablet has no room for a time or an amount of each row on one line.
        'md:max-lg:px-3 md:max-lg:[&_time]:whitespace-normal',
        isAmount && 'tabular md:text-right lg:whitespace-nowrap',
        isNarrow && 'md:w-0 md:whitespace-nowrap',
      )}
    >
      {!isPlain && (
        <span aria-hidden className="shrink-0 text-quiet md:hidden">
          {name}
        </span>
      )}
      <span className="min-w-0 max-md:not-first:ml-auto max-md:text-right max-md:wrap-anywhere max-md:first:text-left">
        {content}
      </span>
    </td>
  );
}
