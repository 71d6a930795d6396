import { type LookupTable, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { type Address, type EncodedAccount, getAddressEncoder, lamports, none, some } from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { AccountState, getMintEncoder, getTokenEncoder } from '@solana-program/token';
import { LiteSVM } from 'litesvm';
import { encodeAccount } from '../../src/squads-emulation/program/accounts.ts';
import { programConfigAddress } from '../../src/squads-emulation/program/addresses.ts';
import type { TestAccounts, Token } from './accounts.ts';

export const START_UNIX_TIMESTAMP = 1_800_000_000n;
export const VAULT_TOKENS_BASE_UNITS = 1_000_000n;
export const DECIMALS = 6;

export interface SvmOptions {
  readonly creationFeeLamports?: bigint;
  readonly walletLamports?: bigint;
  readonly vaultLamports?: bigint;
  readonly lookupTable?: LookupTable;
}

/**
 * Creates an SVM in which the accounts have SOL, the vault its tokens, and Squads its configuration, without the Squads
 * program.
 */
export function createSvm(accounts: TestAccounts, options: SvmOptions = {}): LiteSVM {
  const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n);
  const clock = svm.getClock();
  clock.unixTimestamp = START_UNIX_TIMESTAMP;
  clock.slot = 10n;
  svm.setClock(clock);
  const walletLamports = options.walletLamports ?? 100_000_000_000n;
  for (const wallet of [accounts.operator, accounts.company, accounts.wallet, accounts.stranger]) {
    put(svm, wallet, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), walletLamports);
  }
  put(svm, accounts.treasury, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), 1_000_000_000n);
  put(svm, accounts.vault, SYSTEM_PROGRAM_ADDRESS, new Uint8Array(), options.vaultLamports ?? 10_000_000_000n);
  put(
    svm,
    programConfigAddress().address,
    SQUADS_PROGRAM_ADDRESS,
    programConfig(accounts, options.creationFeeLamports ?? 0n),
  );
  for (const token of accounts.tokens) putToken(svm, accounts, token);
  if (options.lookupTable) putLookupTable(svm, options.lookupTable, accounts.operator);
  return svm;
}

function programConfig({ operator, treasury }: TestAccounts, multisigCreationFee: bigint): Uint8Array {
  const reserved = new Uint8Array(64);
  return encodeAccount('ProgramConfig', { authority: operator, multisigCreationFee, treasury, reserved });
}

function putToken(svm: LiteSVM, { operator, vault }: TestAccounts, { program, mint, vaultAccount }: Token): void {
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
