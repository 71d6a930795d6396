import { type Address, type EncodedAccount, getAddressEncoder, lamports, none, some } from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { AccountState, getMintEncoder, getTokenEncoder } from '@solana-program/token';
import { LiteSVM } from 'litesvm';
import { encodeAccount } from '../../src/squads-emulation/program/accounts.ts';
import { programConfigAddress, SQUADS_PROGRAM_ADDRESS } from '../../src/squads-emulation/program/addresses.ts';
import type { Cast, Token } from './cast.ts';
import type { LookupTable } from './compile-vault-message.ts';

export const START_UNIX_TIMESTAMP = 1_800_000_000n;
export const VAULT_TOKENS_BASE_UNITS = 1_000_000n;
export const DECIMALS = 6;

export interface StageOptions {
  readonly creationFeeLamports?: bigint;
  readonly walletLamports?: bigint;
  readonly vaultLamports?: bigint;
  readonly lookupTable?: LookupTable;
}

/** A fresh SVM in which the cast has funds, the vault its tokens, and Squads its configuration; no Squads program. */
export function setStage(cast: Cast, options: StageOptions = {}): LiteSVM {
  const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n);
  const clock = svm.getClock();
  clock.unixTimestamp = START_UNIX_TIMESTAMP;
  clock.slot = 10n;
  svm.setClock(clock);
  const walletLamports = options.walletLamports ?? 100_000_000_000n;
  for (const wallet of [cast.operator, cast.company, cast.wallet, cast.stranger]) {
    put(svm, wallet, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), walletLamports);
  }
  put(svm, cast.treasury, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), 1_000_000_000n);
  put(svm, cast.vault, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), options.vaultLamports ?? 10_000_000_000n);
  put(
    svm,
    programConfigAddress().address,
    SQUADS_PROGRAM_ADDRESS,
    programConfig(cast, options.creationFeeLamports ?? 0n),
  );
  for (const token of cast.tokens) putToken(svm, cast, token);
  if (options.lookupTable) putLookupTable(svm, options.lookupTable, cast.operator);
  return svm;
}

// 64 reserved bytes follow the fields.
const PROGRAM_CONFIG_BYTES = 144;

function programConfig({ operator, treasury }: Cast, multisigCreationFeeLamports: bigint): Uint8Array {
  const bytes = new Uint8Array(PROGRAM_CONFIG_BYTES);
  bytes.set(encodeAccount('ProgramConfig', { authority: operator, multisigCreationFeeLamports, treasury }));
  return bytes;
}

function putToken(svm: LiteSVM, { operator, vault }: Cast, { program, mint, vaultAccount }: Token): void {
  const mintBytes = getMintEncoder().encode({
    mintAuthority: some(operator),
    supply: VAULT_TOKENS_BASE_UNITS,
    decimals: DECIMALS,
    isInitialized: true,
    freezeAuthority: none(),
  });
  put(svm, mint, program, Uint8Array.from(mintBytes));
  const accountBytes = getTokenEncoder().encode({
    mint,
    owner: vault,
    amount: VAULT_TOKENS_BASE_UNITS,
    delegate: none(),
    state: AccountState.Initialized,
    isNative: none(),
    delegatedAmount: 0n,
    closeAuthority: none(),
  });
  put(svm, vaultAccount, program, Uint8Array.from(accountBytes));
}

// solana-address-lookup-table: kind u32, deactivation slot u64, last extended slot u64, first index of it u8, authority.
const LOOKUP_TABLE_HEADER_BYTES = 56;

function putLookupTable(svm: LiteSVM, { address, addresses }: LookupTable, authority: Address): void {
  const header = new Uint8Array(LOOKUP_TABLE_HEADER_BYTES);
  header[0] = 1;
  header.fill(0xff, 4, 12);
  header[21] = 1;
  header.set(getAddressEncoder().encode(authority), 22);
  const bytes = Buffer.concat([header, ...addresses.map((each) => Buffer.from(getAddressEncoder().encode(each)))]);
  put(svm, address, ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, Uint8Array.from(bytes));
}

function put(
  svm: LiteSVM,
  address: Address,
  programAddress: Address,
  data: Uint8Array,
  balanceLamports?: bigint,
): void {
  const space = BigInt(data.length);
  const account: EncodedAccount = {
    address,
    programAddress,
    data,
    space,
    executable: false,
    lamports: lamports(balanceLamports ?? svm.minimumBalanceForRentExemption(space)),
  };
  svm.setAccount(account);
}
