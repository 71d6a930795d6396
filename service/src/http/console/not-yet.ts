import type { Handlers, OperationTable } from '../handlers.ts';

/** Stands in for handlers that are being written: each call fails. */
export function notYet<Rows extends OperationTable>(rows: Rows): Handlers<Rows> {
  const fail = async () => {
    throw new Error('Not written yet.');
  };
  return Object.fromEntries(Object.keys(rows).map((id) => [id, fail])) as unknown as Handlers<Rows>;
}
