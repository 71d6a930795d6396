import type { Pipeline } from '@flywheel/api';
import { sha256Hex } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { airdrop, packActions } from '@flywheel/sdk';

/** A CSV file of recipients. */
export interface AirdropFile {
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the file’s bytes, lowercase hex. */
  readonly sha256: string;
}

/** Reads a file as UTF-8 text, and its hash. */
export async function readAirdropFile(file: File): Promise<AirdropFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, text: new TextDecoder().decode(bytes), sha256: sha256Hex(bytes) };
}

export interface PackAirdropOptions {
  /** Proof type of the pipelines. */
  readonly type: string;
  readonly file: Pick<AirdropFile, 'name' | 'sha256'>;
  readonly mint: string;
}

/** Packs rows into as few pipelines as possible, in order. Each payload names the file and the rows’ line numbers. */
export function packAirdrop(rows: readonly AirdropRow[], { type, file, mint }: PackAirdropOptions): Pipeline[] {
  return packActions(rows, {
    type,
    token: { mint },
    actionsOf: ({ address, amount }) => [airdrop(address, amount)],
    payloadOf: (packed) => ({
      file: file.name,
      sha256: file.sha256,
      lines: packed.flatMap(({ lines }) => lines),
    }),
  });
}
