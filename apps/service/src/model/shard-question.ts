import type { Address } from '@solana/kit';

/** A question of the reverse proxy in front of several shards: one of them has the project that a request is for. */
export type ShardQuestion =
  /** First twelve characters of an API key. */
  | { readonly kind: 'key'; readonly prefix: string }
  | { readonly kind: 'project'; readonly projectId: string }
  | { readonly kind: 'batch'; readonly batchId: string }
  | { readonly kind: 'wallet'; readonly wallet: Address }
  | { readonly kind: 'vault'; readonly vault: Address }
  /** Hash of a proof, lowercase hex. */
  | { readonly kind: 'proof'; readonly hash: string }
  | { readonly kind: 'transaction'; readonly signature: string };

/** A shard's answer: it has it, it may be between this shard and another one, or neither. */
export type Whereabouts = 'here' | 'moving' | 'elsewhere';
