import { MAX_BLOCK_TIME } from '@flywheel/protocol';
import type { TransactionCall } from '@flywheel/squads';
import { AccountRole, type Address, getBase58Encoder, type Instruction } from '@solana/kit';
import * as z from 'zod';
import { shapes } from './rpc.ts';

/** A confirmed transaction with its instructions and their inner instructions. */
export interface LandedTransaction {
  readonly slot: bigint;
  /** Time that the cluster’s validators agree on; null if the node does not have it. */
  readonly blockTime: Date | null;
  readonly succeeded: boolean;
  readonly calls: readonly TransactionCall[];
  /** False if it succeeded and the node has not recorded what its instructions called: `inner` of `calls` is then empty. */
  readonly hasInner: boolean;
}

const CompiledInstruction = z.object({ programIdIndex: z.number(), accounts: z.array(z.number()), data: z.string() });

/** Answer of getTransaction in the encoding `json`. */
export const LandedTransactionAnswer = z
  .object({
    slot: shapes.u64,
    blockTime: z.bigint().nonnegative().max(BigInt(MAX_BLOCK_TIME)).nullish(),
    transaction: z.object({
      message: z.object({ accountKeys: z.array(shapes.address), instructions: z.array(CompiledInstruction) }),
    }),
    meta: z.object({
      err: shapes.transactionError,
      innerInstructions: z.array(z.object({ index: z.number(), instructions: z.array(CompiledInstruction) })).nullish(),
      loadedAddresses: z.object({ writable: z.array(shapes.address), readonly: z.array(shapes.address) }).nullish(),
    }),
  })
  .transform(({ slot, blockTime, transaction: { message }, meta }): LandedTransaction => {
    const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
    const decompile = decompiler([...message.accountKeys, ...writable, ...readonly]);
    const innerOf = (index: number) =>
      (meta.innerInstructions ?? [])
        .filter((inner) => inner.index === index)
        .flatMap(({ instructions }) => instructions);
    const succeeded = meta.err === null;
    return {
      slot,
      blockTime: blockTime === null || blockTime === undefined ? null : new Date(Number(blockTime) * 1_000),
      succeeded,
      hasInner: !succeeded || Array.isArray(meta.innerInstructions),
      calls: message.instructions.map((instruction, index) => ({
        instruction: decompile(instruction),
        inner: innerOf(index).map(decompile),
      })),
    };
  })
  .nullable();

function decompiler(addresses: readonly Address[]): (compiled: z.output<typeof CompiledInstruction>) => Instruction {
  // One object for each address, because a transaction may refer to it 16,000 times. The answer does not contain roles, and
  // no caller needs them.
  const accounts = addresses.map((address) => ({ address, role: AccountRole.READONLY }) as const);
  const at = (index: number) => {
    const account = accounts[index];
    if (account === undefined)
      throw new Error(`getTransaction: an instruction names account ${index} of ${accounts.length}.`);
    return account;
  };
  return ({ programIdIndex, accounts: indices, data }) => ({
    programAddress: at(programIdIndex).address,
    accounts: indices.map(at),
    data: getBase58Encoder().encode(data),
  });
}
