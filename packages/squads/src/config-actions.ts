import { type Encoder, getArrayDecoder, getArrayEncoder, type ReadonlyUint8Array } from '@solana/kit';
import { type ConfigAction, configActionDecoder, configActionEncoder } from './generated/types.ts';

/** Encodes the changes of a multisig's configuration as instruction and account hold them. */
export function encodeConfigActions(actions: readonly ConfigAction[]): Uint8Array {
  return new Uint8Array(configActionsEncoder.encode([...actions]));
}

/** @throws Error when the bytes are not a list of config actions, or more bytes follow it. */
export function decodeConfigActions(bytes: ReadonlyUint8Array): ConfigAction[] {
  const [actions, end] = getArrayDecoder(configActionDecoder).read(bytes, 0);
  if (end !== bytes.length) throw new Error(`${bytes.length - end} bytes follow the config actions.`);
  return actions;
}

export const configActionsEncoder: Encoder<ConfigAction[]> = /* @__PURE__ */ getArrayEncoder(configActionEncoder);
