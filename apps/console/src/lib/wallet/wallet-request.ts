import type { TransactionModifyingSigner } from '@solana/kit';
import { useState } from 'react';
import { walletSigner } from './signing.ts';

/** Asks a wallet, which may never answer: its window may have been closed. */
export interface WalletRequest {
  /** True from the request until the wallet answers, or the person stops waiting. */
  readonly isWaiting: boolean;
  /**
   * Waits for a wallet’s answer.
   * @throws Error when the person stops waiting. A later answer is dropped, so that nothing is sent then.
   */
  readonly ask: <Answer>(answer: Promise<Answer>) => Promise<Answer>;
  /** Creates a signer as `walletSigner` does, which waits in the same way. */
  readonly signerOf: (address: string, chain: `solana:${string}`) => Promise<TransactionModifyingSigner>;
  readonly stop: () => void;
}

/** Lets a person stop waiting for a wallet. */
export function useWalletRequest(): WalletRequest {
  const [stop, setStop] = useState<(() => void) | null>(null);
  const ask: WalletRequest['ask'] = async (answer) => {
    const stopped = Promise.withResolvers<never>();
    const stopThis = () => stopped.reject(new Error(STOPPED));
    setStop(() => stopThis);
    try {
      return await Promise.race([answer, stopped.promise]);
    } finally {
      setStop((current) => (current === stopThis ? null : current));
    }
  };
  const signerOf: WalletRequest['signerOf'] = async (address, chain) => {
    const signer = await ask(walletSigner(address, chain));
    return { ...signer, modifyAndSignTransactions: (...given) => ask(signer.modifyAndSignTransactions(...given)) };
  };
  return { isWaiting: stop !== null, ask, signerOf, stop: () => stop?.() };
}

const STOPPED =
  'You stopped waiting for the wallet, and nothing was sent. If its window is still open, decline the request there.';
