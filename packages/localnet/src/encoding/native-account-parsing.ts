import {
  CONFIG_PROGRAM_ADDRESS,
  NO_ADDRESS,
  STAKE_PROGRAM_ADDRESS,
  SYSVAR_OWNER_ADDRESS,
  VOTE_PROGRAM_ADDRESS,
} from '@flywheel/protocol';
import { parseJson } from '@flywheel/solana-rpc';
import { UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import { type Address, type EncodedAccount, isSolanaError, type ReadonlyUint8Array } from '@solana/kit';
import {
  getSysvarClockDecoder,
  getSysvarEpochRewardsDecoder,
  getSysvarEpochScheduleDecoder,
  getSysvarLastRestartSlotDecoder,
  getSysvarRecentBlockhashesDecoder,
  getSysvarRentDecoder,
  getSysvarSlotHashesDecoder,
  getSysvarStakeHistoryDecoder,
} from '@solana/sysvars';
import { type ByteReader, createByteReader } from '../wire/byte-reader.ts';

/** First key of the config accounts that describe validators. */
const VALIDATOR_INFO = 'Va1idator1nfo111111111111111111111111111111';

export interface ParsedState {
  readonly type: string;
  readonly info?: unknown;
}

/** Parses sysvars, and accounts of the upgradeable loader and of the stake, vote and config programs; null for others. */
export function parseNativeAccount({ address, programAddress, data }: EncodedAccount) {
  const bytes = new Uint8Array(data);
  const readable = PROGRAMS[programAddress];
  if (!readable) return null;
  try {
    const parsed = readable.parse(bytes, address);
    return parsed && { program: readable.program, parsed, space: bytes.length };
  } catch (error) {
    // Bytes that end too early, or that are no JSON: the program allows them, and nothing can be read from them.
    if (error instanceof RangeError || error instanceof SyntaxError || isSolanaError(error)) return null;
    throw error;
  }
}

type Parser = (bytes: Uint8Array, address: Address) => ParsedState | null;

const PROGRAMS: Readonly<Record<string, { readonly program: string; readonly parse: Parser }>> = {
  [SYSVAR_OWNER_ADDRESS]: { program: 'sysvar', parse: parseSysvar },
  [UPGRADEABLE_LOADER_ADDRESS]: { program: 'bpf-upgradeable-loader', parse: parseLoaderAccount },
  [STAKE_PROGRAM_ADDRESS]: { program: 'stake', parse: parseStake },
  [VOTE_PROGRAM_ADDRESS]: { program: 'vote', parse: parseVote },
  [CONFIG_PROGRAM_ADDRESS]: { program: 'config', parse: parseConfig },
};

function parseSysvar(bytes: Uint8Array, address: Address): ParsedState | null {
  const sysvar = SYSVARS[address];
  return sysvar ? { type: sysvar.type, info: sysvar.info(bytes) } : null;
}

const SYSVARS: Readonly<
  Record<string, { readonly type: string; readonly info: (bytes: ReadonlyUint8Array) => unknown }>
> = {
  SysvarC1ock11111111111111111111111111111111: {
    type: 'clock',
    info: (bytes) => getSysvarClockDecoder().decode(bytes),
  },
  SysvarEpochSchedu1e111111111111111111111111: {
    type: 'epochSchedule',
    info: (bytes) => getSysvarEpochScheduleDecoder().decode(bytes),
  },
  SysvarFees111111111111111111111111111111111: {
    type: 'fees',
    info: (bytes) => ({ feeCalculator: { lamportsPerSignature: String(viewOf(bytes).getBigUint64(0, true)) } }),
  },
  SysvarRecentB1ockHashes11111111111111111111: {
    type: 'recentBlockhashes',
    info: (bytes) =>
      getSysvarRecentBlockhashesDecoder()
        .decode(bytes)
        .map(({ blockhash, feeCalculator }) => ({
          blockhash,
          feeCalculator: { lamportsPerSignature: String(feeCalculator.lamportsPerSignature) },
        })),
  },
  SysvarRent111111111111111111111111111111111: {
    type: 'rent',
    info: (bytes) => {
      // The rent of a year is the whole minimum, because its threshold is 1 (SIMD-0194).
      return { lamportsPerByte: String(getSysvarRentDecoder().decode(bytes).lamportsPerByteYear) };
    },
  },
  SysvarS1otHashes111111111111111111111111111: {
    type: 'slotHashes',
    info: (bytes) => getSysvarSlotHashesDecoder().decode(bytes),
  },
  SysvarS1otHistory11111111111111111111111111: { type: 'slotHistory', info: parseSlotHistory },
  SysvarStakeHistory1111111111111111111111111: {
    type: 'stakeHistory',
    info: (bytes) => getSysvarStakeHistoryDecoder().decode(bytes),
  },
  SysvarLastRestartS1ot1111111111111111111111: {
    type: 'lastRestartSlot',
    info: (bytes) => getSysvarLastRestartSlotDecoder().decode(bytes),
  },
  SysvarEpochRewards1111111111111111111111111: {
    type: 'epochRewards',
    info: (bytes) => {
      const { totalPoints, totalRewards, distributedRewards, ...rest } = getSysvarEpochRewardsDecoder().decode(bytes);
      const amounts = { totalPoints, totalRewards, distributedRewards };
      return { ...rest, ...Object.fromEntries(Object.entries(amounts).map(([name, value]) => [name, String(value)])) };
    },
  },
};

/** Bits in 64-bit blocks behind an option byte and the number of blocks; then the number of bits and the next slot. */
function parseSlotHistory(bytes: ReadonlyUint8Array) {
  const view = viewOf(bytes);
  const blocks = Number(view.getBigUint64(1, true));
  const bits = Array.from({ length: blocks * 8 }, (_, index) =>
    (bytes[9 + index] ?? 0).toString(2).padStart(8, '0').split('').reverse().join(''),
  ).join('');
  return { nextSlot: view.getBigUint64(bytes.length - 8, true), bits };
}

/** A u32 tag; an uninitialized account, a buffer, a program or its code (solana-loader-v3-interface). */
function parseLoaderAccount(bytes: Uint8Array): ParsedState | null {
  const reader = createByteReader(bytes);
  switch (reader.u32()) {
    case 0:
      return { type: 'uninitialized' };
    case 1:
      return { type: 'buffer', info: parseCode(bytes, reader, 4) };
    case 2:
      return { type: 'program', info: { programData: reader.address() } };
    case 3:
      return { type: 'programData', info: { slot: reader.u64(), ...parseCode(bytes, reader, 12) } };
    default:
      return null;
  }
}

/** Reads a program's code. The header always has room for an authority; without one, a validator counts that room as code. */
function parseCode(bytes: Uint8Array, reader: ByteReader, optionOffset: number) {
  const authority = reader.u8() === 1 ? reader.address() : null;
  const code = bytes.subarray(optionOffset + (authority === null ? 1 : 33));
  return { authority, data: [Buffer.from(code).toString('base64'), 'base64'] };
}

/** A u32 tag, then rent, authorities and lockup, then the delegation (solana-stake-interface, StakeStateV2). */
function parseStake(bytes: Uint8Array): ParsedState | null {
  const reader = createByteReader(bytes);
  const tag = reader.u32();
  if (tag === 0) return { type: 'uninitialized' };
  if (tag === 3) return { type: 'rewardsPool' };
  if (tag !== 1 && tag !== 2) return null;
  const meta = {
    rentExemptReserve: String(reader.u64()),
    authorized: { staker: reader.address(), withdrawer: reader.address() },
    lockup: { unixTimestamp: BigInt.asIntN(64, reader.u64()), epoch: reader.u64(), custodian: reader.address() },
  };
  if (tag === 1) return { type: 'initialized', info: { meta, stake: null } };
  const delegation = {
    voter: reader.address(),
    stake: String(reader.u64()),
    activationEpoch: String(reader.u64()),
    deactivationEpoch: String(reader.u64()),
  };
  reader.u64(); // the rate of warming up, which is not shown
  return { type: 'delegated', info: { meta, stake: { delegation, creditsObserved: reader.u64() } } };
}

const PRIOR_VOTERS = 32;

/** A u32 tag: 0 is the version of 0.23.5, 1 of 1.14.11, 2 version 3, 3 version 4 (solana-vote-interface, VoteStateVersions). */
function parseVote(bytes: Uint8Array): ParsedState | null {
  const reader = createByteReader(bytes);
  const tag = reader.u32();
  if (tag > 3) return null;
  const nodePubkey = reader.address();
  const first = tag === 0 ? readOldVoters(reader) : null;
  const authorizedWithdrawer = reader.address();
  const commission = tag === 3 ? readRewardShares(reader) : reader.u8();
  const votes = readList(reader, () => {
    if (tag >= 2) reader.u8(); // the latency of the vote, which is not shown
    return { slot: reader.u64(), confirmationCount: reader.u32() };
  });
  const rootSlot = reader.u8() === 1 ? reader.u64() : null;
  const authorizedVoters =
    first?.authorizedVoters ?? readList(reader, () => ({ epoch: reader.u64(), authorizedVoter: reader.address() }));
  const priorVoters = first?.priorVoters ?? (tag === 3 ? [] : readPriorVoters(reader));
  if (tag === 1 || tag === 2) reader.bytes(9); // position in the ring of prior voters, and whether it is empty
  const epochCredits = readList(reader, () => ({
    epoch: reader.u64(),
    credits: String(reader.u64()),
    previousCredits: String(reader.u64()),
  }));
  const lastTimestamp = { slot: reader.u64(), timestamp: BigInt.asIntN(64, reader.u64()) };
  return {
    type: 'vote',
    info: {
      ...{ nodePubkey, authorizedWithdrawer, commission, votes, rootSlot },
      ...{ authorizedVoters, priorVoters, epochCredits, lastTimestamp },
    },
  };
}

function readOldVoters(reader: ByteReader) {
  const authorizedVoter = reader.address();
  const authorizedVoters = [{ epoch: reader.u64(), authorizedVoter }];
  const priorVoters = readPriorVoters(reader, 8);
  reader.u64(); // position in the ring of prior voters
  return { authorizedVoters, priorVoters };
}

/** The share of version 4 is in basis points, behind two addresses of collectors; a validator shows whole percents. */
function readRewardShares(reader: ByteReader): number {
  reader.bytes(64);
  const basisPoints = reader.u16();
  reader.bytes(2 + 8); // the share of block revenue, and rewards that wait for their distribution
  if (reader.u8() === 1) reader.bytes(48); // a compressed BLS key
  return Math.floor(basisPoints / 100) % 256;
}

function readPriorVoters(reader: ByteReader, skippedBytes = 0) {
  const ring = Array.from({ length: PRIOR_VOTERS }, () => {
    const voter = {
      authorizedPubkey: reader.address(),
      epochOfLastAuthorizedSwitch: reader.u64(),
      targetEpoch: reader.u64(),
    };
    reader.bytes(skippedBytes);
    return voter;
  });
  // It fills the room of voters that the account has not had.
  return ring.filter(({ authorizedPubkey }) => authorizedPubkey !== NO_ADDRESS);
}

/** Reads entries behind their u64 count. */
function readList<T>(reader: ByteReader, readEntry: () => T): T[] {
  return Array.from({ length: Number(reader.u64()) }, readEntry);
}

/** Keys, each with whether it must sign, behind their count in one byte; then JSON text that describes a validator. */
function parseConfig(bytes: Uint8Array): ParsedState | null {
  const reader = createByteReader(bytes);
  const keys = Array.from({ length: reader.u8() }, () => ({ pubkey: reader.address(), signer: reader.u8() === 1 }));
  if (keys[0]?.pubkey !== VALIDATOR_INFO) return null;
  const text = new TextDecoder().decode(reader.bytes(Number(reader.u64())));
  return { type: 'validatorInfo', info: { keys, configData: parseJson(text) } };
}

function viewOf(bytes: ReadonlyUint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
