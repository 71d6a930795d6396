import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { ByteReader } from '../wire/byte-reader.ts';

/** Encoding of one member of an instruction; a name with `?` is omitted if it has no value. */
export type Field =
  | 'u8'
  | 'u64'
  /** A u64 as text, like token amounts. */
  | 'amount'
  /** A u64 with its decimals. */
  | 'checkedAmount'
  | 'address'
  | 'address?'
  | 'address|null'
  | 'addresses'
  | 'text'
  | 'authorityType'
  /** Kinds of extensions to the end of the data; missing if there are none. */
  | 'extensionTypes';

/**
 * Layout of an instruction. Names are those of a validator's jsonParsed (transaction-status, parse_system.rs,
 * parse_token.rs and so on).
 */
export interface Layout {
  readonly type: string;
  /** Names of the accounts in order; those with `?` may be missing at the end. */
  readonly accounts: readonly string[];
  readonly fields: readonly (readonly [name: string, field: Field])[];
  /** Account that may be a multisig; its signers then follow all other accounts. */
  readonly owner?: string;
}

interface ReadableProgram {
  readonly program: string;
  readTag(reader: ByteReader): number;
  readonly layouts: ReadonlyMap<number, Layout>;
}

type Fields = Layout['fields'];

function layout(type: string, accounts: string, fields: Fields = []): Layout {
  return { type, accounts: accounts.split(' '), fields };
}

/** Describes an instruction whose last account is an owner, or a multisig of owners. */
function owned(type: string, accounts: string, fields: Fields = []): Layout {
  const names = accounts.split(' ');
  const owner = names.at(-1);
  return { type, accounts: names, fields, ...(owner !== undefined && { owner }) };
}

const SEEDED: Fields = [
  ['base', 'address'],
  ['seed', 'text'],
];

const system = new Map<number, Layout>([
  [
    0,
    layout('createAccount', 'source newAccount', [
      ['lamports', 'u64'],
      ['space', 'u64'],
      ['owner', 'address'],
    ]),
  ],
  [1, layout('assign', 'account', [['owner', 'address']])],
  [2, layout('transfer', 'source destination', [['lamports', 'u64']])],
  [
    3,
    layout('createAccountWithSeed', 'source newAccount', [
      ...SEEDED,
      ['lamports', 'u64'],
      ['space', 'u64'],
      ['owner', 'address'],
    ]),
  ],
  [4, layout('advanceNonce', 'nonceAccount recentBlockhashesSysvar nonceAuthority')],
  [
    5,
    layout('withdrawFromNonce', 'nonceAccount destination recentBlockhashesSysvar rentSysvar nonceAuthority', [
      ['lamports', 'u64'],
    ]),
  ],
  [6, layout('initializeNonce', 'nonceAccount recentBlockhashesSysvar rentSysvar', [['nonceAuthority', 'address']])],
  [7, layout('authorizeNonce', 'nonceAccount nonceAuthority', [['newAuthorized', 'address']])],
  [8, layout('allocate', 'account', [['space', 'u64']])],
  [9, layout('allocateWithSeed', 'account', [...SEEDED, ['space', 'u64'], ['owner', 'address']])],
  [10, layout('assignWithSeed', 'account', [...SEEDED, ['owner', 'address']])],
  [
    11,
    layout('transferWithSeed', 'source sourceBase destination', [
      ['lamports', 'u64'],
      ['sourceSeed', 'text'],
      ['sourceOwner', 'address'],
    ]),
  ],
  [12, layout('upgradeNonce', 'nonceAccount')],
]);

const MINT: Fields = [
  ['decimals', 'u8'],
  ['mintAuthority', 'address'],
  ['freezeAuthority', 'address?'],
];
const AMOUNT: Fields = [['amount', 'amount']];
const CHECKED: Fields = [['tokenAmount', 'checkedAmount']];

const token = new Map<number, Layout>([
  [0, layout('initializeMint', 'mint rentSysvar', MINT)],
  [1, layout('initializeAccount', 'account mint owner rentSysvar')],
  [3, owned('transfer', 'source destination authority', AMOUNT)],
  [4, owned('approve', 'source delegate owner', AMOUNT)],
  [5, owned('revoke', 'source owner')],
  [
    6,
    owned('setAuthority', 'account authority', [
      ['authorityType', 'authorityType'],
      ['newAuthority', 'address|null'],
    ]),
  ],
  [7, owned('mintTo', 'mint account mintAuthority', AMOUNT)],
  [8, owned('burn', 'account mint authority', AMOUNT)],
  [9, owned('closeAccount', 'account destination owner')],
  [10, owned('freezeAccount', 'account mint freezeAuthority')],
  [11, owned('thawAccount', 'account mint freezeAuthority')],
  [12, owned('transferChecked', 'source mint destination authority', CHECKED)],
  [13, owned('approveChecked', 'source mint delegate owner', CHECKED)],
  [14, owned('mintToChecked', 'mint account mintAuthority', CHECKED)],
  [15, owned('burnChecked', 'account mint authority', CHECKED)],
  [16, layout('initializeAccount2', 'account mint rentSysvar', [['owner', 'address']])],
  [17, layout('syncNative', 'account')],
  [18, layout('initializeAccount3', 'account mint', [['owner', 'address']])],
  [20, layout('initializeMint2', 'mint', MINT)],
  [21, layout('getAccountDataSize', 'mint', [['extensionTypes', 'extensionTypes']])],
  [22, layout('initializeImmutableOwner', 'account')],
]);

const CREATION = 'source account wallet mint systemProgram tokenProgram';

const associatedToken = new Map<number, Layout>([
  [0, layout('create', CREATION)],
  [1, layout('createIdempotent', CREATION)],
]);

const lookupTable = new Map<number, Layout>([
  [
    0,
    layout('createLookupTable', 'lookupTableAccount lookupTableAuthority payerAccount systemProgram', [
      ['recentSlot', 'u64'],
      ['bumpSeed', 'u8'],
    ]),
  ],
  [1, layout('freezeLookupTable', 'lookupTableAccount lookupTableAuthority')],
  [
    2,
    layout('extendLookupTable', 'lookupTableAccount lookupTableAuthority payerAccount? systemProgram?', [
      ['newAddresses', 'addresses'],
    ]),
  ],
  [3, layout('deactivateLookupTable', 'lookupTableAccount lookupTableAuthority')],
  [4, layout('closeLookupTable', 'lookupTableAccount lookupTableAuthority recipient')],
]);

/** Programs in bincode have a u32 tag, others one byte. */
const u32Tag = (reader: ByteReader) => reader.u32();
const u8Tag = (reader: ByteReader) => reader.u8();
/** An empty instruction of the associated token program means tag 0. */
const u8TagOrNone = (reader: ByteReader) => (reader.atEnd() ? 0 : reader.u8());

/** Programs that a validator parses, by address; both token programs have one name. */
export const PROGRAMS: ReadonlyMap<string, ReadableProgram> = new Map<string, ReadableProgram>([
  [SYSTEM_PROGRAM_ADDRESS, { program: 'system', readTag: u32Tag, layouts: system }],
  [TOKEN_PROGRAM_ADDRESS, { program: 'spl-token', readTag: u8Tag, layouts: token }],
  [TOKEN_2022_PROGRAM_ADDRESS, { program: 'spl-token', readTag: u8Tag, layouts: token }],
  [
    ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
    { program: 'spl-associated-token-account', readTag: u8TagOrNone, layouts: associatedToken },
  ],
  [ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, { program: 'address-lookup-table', readTag: u32Tag, layouts: lookupTable }],
]);
