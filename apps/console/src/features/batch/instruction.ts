import { toDecimal } from '@flywheel/sdk';
import {
  type Address,
  addDecoderSizePrefix,
  getAddressDecoder,
  getArrayDecoder,
  getBase64Encoder,
  getBooleanDecoder,
  getBytesDecoder,
  getStructDecoder,
  getU32Decoder,
  getU64Decoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { groupDigits, SOL_DECIMALS } from '../../lib/amounts.ts';
import { shorten } from '../../lib/format.ts';

interface InstructionWords {
  readonly program: string;
  readonly text: string;
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  '11111111111111111111111111111111': 'System',
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: 'Associated Token',
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: 'Token',
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'Token-2022',
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: 'Memo',
};

/** System’s Transfer, a little-endian u32; then the lamports. */
const SYSTEM_TRANSFER = 2;
const SYSTEM_TRANSFER_BYTES = 12;
/** SPL Token, and Token-2022 alike: kind, amount, decimals. */
const TRANSFER_CHECKED = 12;
const BURN_CHECKED = 15;
const CHECKED_BYTES = 10;

/** What an instruction does, in words, read from its own bytes. */
export function instructionWords(instruction: WireInstruction): InstructionWords {
  const { program, data, accounts } = instruction;
  return { program: PROGRAM_NAMES[program] ?? shorten(program), text: textOf(instruction) ?? unknown(data, accounts) };
}

function textOf({ program, accounts, data }: WireInstruction): string | null {
  const account = (index: number) => shorten(accounts[index]?.address ?? 'nobody');
  switch (PROGRAM_NAMES[program]) {
    case 'Memo':
      return `writes “${new TextDecoder().decode(new Uint8Array(data))}”`;
    case 'Associated Token':
      return `creates the token account of ${account(2)} if it is missing`;
    case 'System':
      if (data[0] !== SYSTEM_TRANSFER || data.length !== SYSTEM_TRANSFER_BYTES) return null;
      return `transfers ${amountAt(data, 4, SOL_DECIMALS)} SOL to ${account(1)}`;
    case 'Token':
    case 'Token-2022': {
      if (data.length !== CHECKED_BYTES) return null;
      const amount = amountAt(data, 1, data[9] ?? 0);
      if (data[0] === BURN_CHECKED) return `burns ${amount} tokens of ${account(0)}`;
      return data[0] === TRANSFER_CHECKED ? `transfers ${amount} tokens to the token account ${account(2)}` : null;
    }
    default:
      return null;
  }
}

function amountAt(data: WireInstruction['data'], offset: number, decimals: number): string {
  return groupDigits(toDecimal(getU64Decoder().decode(data, offset), decimals));
}

function unknown(data: WireInstruction['data'], accounts: WireInstruction['accounts']): string {
  return `is called with ${data.length} bytes and ${accounts.length} accounts`;
}

/** An instruction as the wire carries it. */
interface WireInstruction {
  readonly program: Address;
  readonly accounts: readonly { readonly address: Address; readonly isSigner: boolean; readonly isWritable: boolean }[];
  readonly data: ReadonlyUint8Array;
}

/** The Borsh layout that SPL Governance calls InstructionData. */
const decoder = getStructDecoder([
  ['program', getAddressDecoder()],
  [
    'accounts',
    getArrayDecoder(
      getStructDecoder([
        ['address', getAddressDecoder()],
        ['isSigner', getBooleanDecoder()],
        ['isWritable', getBooleanDecoder()],
      ]),
    ),
  ],
  ['data', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
]);

/**
 * Decodes one of a compiled pipeline’s instructions.
 * @param base64 as the service answers it.
 * @throws SolanaError when the bytes end too soon.
 */
export function readInstruction(base64: string): WireInstruction {
  return decoder.decode(getBase64Encoder().encode(base64));
}
