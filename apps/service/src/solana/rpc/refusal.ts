import * as z from 'zod';
import { shapes } from './shapes.ts';

/** A node’s own “no”: the `error` of a JSON-RPC answer. kit’s errors leave its words out in production. */
export class RpcRefusal extends Error {
  readonly code: number;
  /** JSON text of the TransactionError, where the refusal is about a transaction. */
  readonly err: string | null;

  constructor({ code, message, data }: z.output<typeof RefusalShape>) {
    const err = data?.err ?? null;
    super(`${message} (${code})${err === null ? '' : `: ${err}`}`);
    this.name = 'RpcRefusal';
    this.code = code;
    this.err = err;
  }
}

/** The refusal in an answer, or null where it is none. @throws SyntaxError when `error` is not as JSON-RPC has it. */
export function refusalIn(answer: object): RpcRefusal | null {
  if (!('error' in answer) || answer.error === null) return null;
  const parsed = RefusalShape.safeParse(answer.error);
  if (!parsed.success) throw new SyntaxError(`Unexpected error: ${z.prettifyError(parsed.error)}`);
  return new RpcRefusal(parsed.data);
}

const RefusalShape = z.object({
  code: z.number(),
  message: z.string(),
  // What else a node adds, and whether it adds anything, is its own affair.
  data: z.object({ err: shapes.transactionError }).optional().catch(undefined),
});
