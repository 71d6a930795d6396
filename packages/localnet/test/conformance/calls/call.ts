import type { Detail } from '../normalise.ts';

/** One call of the script; its name is unique. */
export interface Call {
  readonly name: string;
  readonly method: string;
  readonly params: readonly unknown[] | undefined;
  readonly detail: Detail;
  /** Role of a signature: only its transaction is compared, where a block has more. */
  readonly only?: string;
}

export const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const;
/** A slot that no cluster reaches. */
export const FUTURE_SLOT = 4_000_000_000;

/** Describes a call; `about` says in what it differs from other calls of the method. */
export function call(method: string, about = '', params?: readonly unknown[], detail: Detail = 'values'): Call {
  return { name: about === '' ? method : `${method}: ${about}`, method, params, detail };
}

/** Describes a call at each commitment, without one, and at a slot that is not reached. */
export function atEachCommitment(
  method: string,
  params: readonly unknown[] = [],
  config: object = {},
  detail: Detail = 'values',
): Call[] {
  return [
    ...COMMITMENTS.map((commitment) => call(method, commitment, [...params, { ...config, commitment }], detail)),
    call(method, 'default commitment', Object.keys(config).length === 0 ? params : [...params, config], detail),
    call(method, 'unknown commitment', [...params, { ...config, commitment: 'singleGossip' }], detail),
    call(method, 'future minContextSlot', [...params, { ...config, minContextSlot: FUTURE_SLOT }], detail),
  ];
}
