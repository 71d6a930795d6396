import type { Address, AddressesByLookupTableAddress, KeyPairSigner } from '@solana/kit';
import {
  findAddressLookupTablePda,
  getCreateLookupTableInstructionAsync,
  getExtendLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import type { Cluster } from './cluster.ts';

/** Creates a lookup table with the real program and passes the slot after which it can be used. */
export async function createTable(
  cluster: Cluster,
  authority: KeyPairSigner,
  addresses: readonly Address[],
): Promise<AddressesByLookupTableAddress> {
  const table = await createUnripeTable(cluster, authority, addresses);
  await cluster.localnet.warp();
  return table;
}

/** Creates a lookup table like createTable, within one slot. */
export async function createUnripeTable(
  { rpc, send }: Cluster,
  authority: KeyPairSigner,
  addresses: readonly Address[],
): Promise<AddressesByLookupTableAddress> {
  const recentSlot = await rpc.getSlot({ commitment: 'confirmed' }).send();
  const [table] = await findAddressLookupTablePda({ authority: authority.address, recentSlot });
  await send(authority, [
    await getCreateLookupTableInstructionAsync({ authority: authority.address, payer: authority, recentSlot }),
    getExtendLookupTableInstruction({ address: table, authority, payer: authority, addresses: [...addresses] }),
  ]);
  return { [table]: [...addresses] };
}
