import {
  type AccountMeta,
  AccountRole,
  type Address,
  type Instruction,
  isSignerRole,
  isWritableRole,
  mergeRoles,
} from '@solana/kit';
import { vaultMessageArgumentCodec } from '../../src/squads-emulation/program/vault-message.ts';

export interface LookupTable {
  readonly address: Address;
  readonly addresses: readonly Address[];
}

export interface CompiledVaultMessage {
  readonly bytes: Uint8Array;
  /** What executing it takes after the instruction's own accounts. */
  readonly remaining: readonly AccountMeta[];
}

/** Compiles the vault's instructions to the message that a batch stores, with the vault as first signer. */
export function compileVaultMessage(
  vault: Address,
  instructions: readonly Instruction[],
  tables: readonly LookupTable[] = [],
): CompiledVaultMessage {
  const roles = new Map<Address, AccountRole>([[vault, AccountRole.WRITABLE_SIGNER]]);
  for (const { programAddress, accounts = [] } of instructions) {
    for (const { address, role } of [...accounts, { address: programAddress, role: AccountRole.READONLY }]) {
      roles.set(address, mergeRoles(roles.get(address) ?? AccountRole.READONLY, role));
    }
  }
  const tableOf = (address: Address) => tables.find((table) => table.addresses.includes(address));
  const metas = Array.from(roles, ([address, role]) => ({ address, role }));
  const isStatic = ({ address, role }: AccountMeta) => isSignerRole(role) || !tableOf(address);
  const statics = ROLE_ORDER.flatMap((wanted) => metas.filter((meta) => isStatic(meta) && meta.role === wanted));
  const lookups = tables
    .map((table) => {
      const loaded = metas.filter((meta) => !isStatic(meta) && tableOf(meta.address) === table);
      return {
        table,
        writable: loaded.filter(({ role }) => isWritableRole(role)),
        readonly: loaded.filter(({ role }) => !isWritableRole(role)),
      };
    })
    .filter(({ writable, readonly }) => writable.length + readonly.length > 0);
  const ordered = [
    ...statics,
    ...lookups.flatMap(({ writable }) => writable),
    ...lookups.flatMap(({ readonly }) => readonly),
  ];
  const indexOf = (wanted: Address) => ordered.findIndex(({ address }) => address === wanted);
  const bytes = vaultMessageArgumentCodec.encode({
    signerCount: statics.filter(({ role }) => isSignerRole(role)).length,
    writableSignerCount: statics.filter(({ role }) => role === AccountRole.WRITABLE_SIGNER).length,
    writableNonSignerCount: statics.filter(({ role }) => role === AccountRole.WRITABLE).length,
    accountKeys: statics.map(({ address }) => address),
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      programIndex: indexOf(programAddress),
      accountIndexes: accounts.map(({ address }) => indexOf(address)),
      data,
    })),
    lookups: lookups.map(({ table, writable, readonly }) => ({
      table: table.address,
      writableIndexes: writable.map(({ address }) => table.addresses.indexOf(address)),
      readonlyIndexes: readonly.map(({ address }) => table.addresses.indexOf(address)),
    })),
  });
  const remaining = [
    ...lookups.map(({ table }) => ({ address: table.address, role: AccountRole.READONLY })),
    ...statics.map((meta) => (meta.address === vault ? { address: vault, role: AccountRole.WRITABLE } : meta)),
    ...lookups.flatMap(({ writable, readonly }) => [...writable, ...readonly]),
  ];
  return { bytes: Uint8Array.from(bytes), remaining };
}

const ROLE_ORDER = [
  AccountRole.WRITABLE_SIGNER,
  AccountRole.READONLY_SIGNER,
  AccountRole.WRITABLE,
  AccountRole.READONLY,
];
