import type { PendingRpcRequest } from '@solana/kit';
import * as z from 'zod';

/**
 * Sends a request and checks the answer’s shape: kit types answers and does not look at them.
 * @throws Error that starts with the method’s name and has the node’s own words; the cause is the original error.
 */
export async function ask<T>(method: string, request: PendingRpcRequest<unknown>, shape: z.ZodType<T>): Promise<T> {
  let answer: unknown;
  try {
    answer = await request.send();
  } catch (cause) {
    throw new Error(`${method}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new Error(`${method}: unexpected answer: ${z.prettifyError(parsed.error)}`, { cause: parsed.error });
}
