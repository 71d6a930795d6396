import type { LookupTable } from '@flywheel/squads';
import { AccountRole, type Instruction } from '@solana/kit';
import { ephemeralSignerAddress } from '../../../src/squads-emulation/program/addresses.ts';
import { transfer } from '../../../src/squads-emulation/program/call.ts';
import type { TestAccounts } from '../accounts.ts';
import { type BatchKey, batchOf, proposalOf } from '../instructions.ts';
import { airdrop, burn, compileMessage, memo } from '../vault-instructions.ts';
import { weaken } from './damage-instruction.ts';
import type { Addition, InnerPlan } from './run-plan.ts';

/** Builds the vault message of a plan, damaged if the plan says so. */
export async function plannedMessage(
  accounts: TestAccounts,
  key: BatchKey,
  { inner, spoil }: Addition,
  tables: readonly LookupTable[],
): Promise<Uint8Array> {
  const instructions: Instruction[] = [];
  for (const plan of inner) instructions.push(...(await innerInstructions(accounts, key, plan)));
  const { bytes } = compileMessage(accounts.vault, instructions, tables);
  if (spoil === null) return bytes;
  if (spoil.kind === 'cut') return bytes.slice(0, Math.max(0, bytes.length - spoil.bytes));
  return bytes.with(spoil.at, spoil.byte);
}

/** Returns the instruction unchanged, or with its signers as mere accounts. */
export function signedOrNot(instruction: Instruction, { signed }: { readonly signed: boolean }): Instruction {
  if (signed) return instruction;
  const accounts = (instruction.accounts ?? []).map((meta) => weaken(meta, 'not signing'));
  return { ...instruction, accounts };
}

async function innerInstructions(
  accounts: TestAccounts,
  key: BatchKey,
  plan: InnerPlan,
): Promise<readonly Instruction[]> {
  const recipient = (each: number) => accounts.recipients[each] ?? accounts.stranger;
  switch (plan.kind) {
    case 'burn':
      return [burn(accounts, tokenAt(accounts, plan.token), plan.amount)];
    case 'airdrop':
      return airdrop(accounts, tokenAt(accounts, plan.token), { ...plan, recipient: recipient(plan.recipient) });
    case 'memo': {
      const signers = {
        nobody: undefined,
        vault: accounts.vault,
        operator: accounts.operator,
        ephemeral: ephemeralSignerAddress(batchOf(key), 0).address,
      };
      return [memo('m'.repeat(plan.length), signers[plan.signedBy])];
    }
    case 'pay': {
      const to = { company: accounts.company, recipient: recipient(0), multisig: accounts.multisig }[plan.to];
      const payment = transfer(accounts[plan.from], to, plan.lamports);
      return [signedOrNot(payment, plan)];
    }
    case 'touch': {
      const what = { batch: batchOf(key), proposal: proposalOf(key), multisig: accounts.multisig }[plan.what];
      return [{ ...memo('touched'), accounts: [{ address: what, role: AccountRole.WRITABLE }] }];
    }
    case 'call nothing':
      return [{ programAddress: accounts.stranger, data: Uint8Array.of(1) }];
  }
}

function tokenAt({ tokens }: TestAccounts, each: number) {
  return each === 0 ? tokens[0] : tokens[1];
}
