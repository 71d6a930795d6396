import type { Multisig } from '@flywheel/service/internal/model/project.ts';
import { executionGroup } from '@flywheel/service/internal/squads/groups.ts';
import {
  batchAddTransaction,
  batchCreate,
  locateBatch,
  proposalActivate,
  proposalApprove,
  proposalCreate,
} from '@flywheel/service/internal/squads/instructions.ts';
import {
  compileVaultMessage,
  decodeProgramConfig,
  getMultisigCreateV2Instruction,
  multisigAddress,
  PERMISSION,
  programConfigAddress,
  vaultAddress,
} from '@flywheel/squads';
import {
  AccountRole,
  type Address,
  addSignersToInstruction,
  createNoopSigner,
  fetchEncodedAccount,
  generateKeyPairSigner,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { land } from './chain.ts';
import type { World } from './world.ts';

/** Someone with a wallet and a multisig of their own, who is the only member of it. */
export interface Stranger {
  readonly signer: KeyPairSigner;
  /** Holds 1 SOL. */
  readonly vault: Address;
  /**
   * Names accounts of others in every place that Squads leaves open to a stranger: behind the accounts of an instruction
   * that adds to a batch of their own, and inside their own vault message, so that its execution names them too.
   */
  forge(named: readonly Address[]): Promise<void>;
  /**
   * Executes instructions as calls of the stranger's own vault. Only the real program calls itself.
   * @param version of the transactions; 0 by default.
   */
  call(instructions: readonly Instruction[], version?: 'legacy' | 0): Promise<void>;
}

export async function openStranger(world: Pick<World, 'rpc' | 'localnet'>): Promise<Stranger> {
  const signer = await generateKeyPairSigner();
  await world.localnet.bank.airdrop(signer.address, 10_000_000_000n);
  const multisig = await createOwnMultisig(world, signer);
  let batchIndex = 0n;
  const execute = async (vaultMessage: Uint8Array, named: readonly Address[], version?: 'legacy' | 0) => {
    batchIndex += 1n;
    const located = locateBatch(multisig, batchIndex);
    const add = batchAddTransaction(located, 0, vaultMessage);
    const pipeline = { instructions: [], vaultMessage };
    const { instructions: execution } = executionGroup(multisig, { batchIndex, position: 0 }, pipeline, 0);
    const steps = [
      [batchCreate(located), proposalCreate(located), { ...add, accounts: [...add.accounts, ...readonly(named)] }],
      [proposalActivate(located), proposalApprove(located, signer.address)],
      execution,
    ];
    for (const instructions of steps) await land(world, signer, withSigner(signer, instructions), version);
  };
  return {
    signer,
    vault: multisig.vault,
    forge: async (named) => execute(await messageNaming(multisig, named), named),
    call: async (instructions, version) =>
      execute(compileVaultMessage(instructions, { vault: multisig.vault, lookupTables: [] }), [], version),
  };
}

async function createOwnMultisig(world: Pick<World, 'rpc' | 'localnet'>, signer: KeyPairSigner): Promise<Multisig> {
  const { rpc, localnet } = world;
  const createKey = await generateKeyPairSigner();
  const programConfig = programConfigAddress();
  const config = await fetchEncodedAccount(rpc, programConfig);
  if (!config.exists) throw new Error('The cluster has no configuration of the Squads program.');
  const address = multisigAddress(createKey.address);
  const all = PERMISSION.initiate | PERMISSION.vote | PERMISSION.execute;
  const create = getMultisigCreateV2Instruction({
    programConfig,
    treasury: decodeProgramConfig(config).treasury,
    multisig: address,
    createKey: createKey.address,
    creator: signer.address,
    configAuthority: null,
    threshold: 1,
    members: [{ key: signer.address, permissions: { mask: all } }],
    timeLock: 0,
    rentCollector: signer.address,
    memo: null,
  });
  await land(world, signer, [addSignersToInstruction([signer, createKey], create)]);
  const vault = vaultAddress(address, 0);
  await localnet.bank.airdrop(vault, 1_000_000_000n);
  const own = {
    operator: signer.address,
    rentCollector: signer.address,
    recovery: null,
    company: signer.address,
    wallet: signer.address,
  };
  return { address, vault, vaultIndex: 0, ...own, lookupTable: { address: createKey.address, addresses: [] } };
}

/** A vault message with a transfer that ignores the accounts named behind its own. */
async function messageNaming({ vault }: Multisig, named: readonly Address[]): Promise<Uint8Array> {
  const { address: destination } = await generateKeyPairSigner();
  const transfer = getTransferSolInstruction({ source: createNoopSigner(vault), destination, amount: 1_000_000n });
  const instruction = { ...transfer, accounts: [...transfer.accounts, ...readonly(named)] };
  return compileVaultMessage([instruction], { vault, lookupTables: [] });
}

function readonly(addresses: readonly Address[]) {
  return addresses.map((address) => ({ address, role: AccountRole.READONLY }));
}

function withSigner(signer: KeyPairSigner, instructions: readonly Instruction[]): Instruction[] {
  return instructions.map((instruction) => addSignersToInstruction([signer], instruction));
}
