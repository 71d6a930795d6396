import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { address, firstParseIssue, messageOf } from '@flywheel/protocol';
import { parseJson } from '@flywheel/solana-rpc';
import { type Address, type EncodedAccount, lamports } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { z } from 'zod';

/** Accounts and programs of a real cluster with which a local one starts, in the formats of solana-test-validator. */
export interface GenesisFiles {
  /** Files as `solana account --output json --output-file FILE` writes them, by address; the address may differ. */
  readonly accounts?: readonly { readonly address: string; readonly file: string }[];
  /** Directories of such files; each file contains its own address. */
  readonly accountDirectories?: readonly string[];
  /** ELF files of programs by address. */
  readonly programs?: readonly { readonly address: string; readonly file: string }[];
}

/** The error of a file with which a cluster cannot start. Its message names the file and the reason. */
export class GenesisFileError extends Error {}

/** Loads accounts and programs from files into an SVM. @throws GenesisFileError */
export function loadGenesisFiles(
  svm: LiteSVM,
  { accounts = [], accountDirectories = [], programs = [] }: GenesisFiles,
): void {
  const all = [
    ...accountDirectories.flatMap(listAccountFiles).map(readAccountFile),
    ...accounts.map(({ address: target, file }) => ({ ...readAccountFile(file), address: parseAddress(target) })),
  ];
  // LiteSVM loads the code of a program, which is an account of its own, when the program's account is written.
  for (const account of all.toSorted((a, b) => Number(a.executable) - Number(b.executable))) {
    withFileError(`The account ${account.address} cannot be loaded`, () => svm.setAccount(account));
  }
  for (const { address: target, file } of programs) {
    const elf = readFile(file);
    withFileError(`${file} is not a program`, () => svm.addProgram(parseAddress(target), elf));
  }
}

function listAccountFiles(directory: string): string[] {
  const names = withFileError(`${directory} cannot be read`, () => readdirSync(directory));
  return names.filter((entry) => entry.endsWith('.json')).map((name) => join(directory, name));
}

/** Integers of 64 bits in these files may exceed a double. */
const integer = z.union([z.int().nonnegative(), z.bigint().nonnegative()]).transform(BigInt);
const accountFile = z.object({
  pubkey: z.string(),
  account: z.object({
    lamports: integer,
    data: z.tuple([z.string(), z.literal('base64')]),
    owner: z.string(),
    executable: z.boolean(),
  }),
});

function readAccountFile(file: string): EncodedAccount {
  let content: unknown;
  try {
    content = parseJson(readFile(file).toString('utf8'));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new GenesisFileError(`${file} is not JSON.`, { cause });
  }
  const parsed = accountFile.safeParse(content);
  if (!parsed.success) {
    const { place, message } = firstParseIssue(parsed.error, 'the file');
    throw new GenesisFileError(`${file} is not an account: ${place}: ${message}.`);
  }
  const { pubkey, account } = parsed.data;
  const data = new Uint8Array(Buffer.from(account.data[0], 'base64'));
  return {
    address: parseAddress(pubkey),
    lamports: lamports(account.lamports),
    programAddress: parseAddress(account.owner),
    executable: account.executable,
    data,
    space: BigInt(data.length),
  };
}

function readFile(file: string): Buffer {
  return withFileError(`${file} cannot be read`, () => readFileSync(file));
}

function parseAddress(text: string): Address {
  return withFileError(`${text} is not an address`, () => address(text));
}

function withFileError<Result>(sentence: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new GenesisFileError(`${sentence}: ${messageOf(cause)}.`, { cause });
  }
}
