import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  type Nonce,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingDurableNonce,
} from '@solana/kit';

const SQUADS_PROGRAM = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const COMPUTE_BUDGET_PROGRAM = address('ComputeBudget111111111111111111111111111111');
const NONCE_ACCOUNT = address('So11111111111111111111111111111111111111112');
const NONCE = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Nonce;
/** First eight bytes of SHA-256("global:proposal_approve"), then no memo. */
const APPROVE = new Uint8Array([144, 37, 164, 136, 188, 216, 42, 248, 0]);

export interface ApprovalOptions {
  readonly operator: KeyPairSigner;
  readonly wallet: KeyPairSigner;
  readonly company: Address;
  readonly feePayer?: Address;
  readonly extra?: readonly Instruction[];
}

/** Builds an approval like the service: nonce advance, compute budget, two votes; signed by the operator. */
export async function buildApproval(options: ApprovalOptions): Promise<Base64EncodedWireTransaction> {
  const { operator, wallet, company, feePayer = operator.address, extra = [] } = options;
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(feePayer, draft),
    (draft) =>
      appendTransactionMessageInstructions(
        [
          { programAddress: COMPUTE_BUDGET_PROGRAM, data: new Uint8Array([2, 96, 234, 0, 0]) },
          vote(wallet.address),
          vote(company),
          ...extra,
        ],
        draft,
      ),
    (draft) =>
      setTransactionMessageLifetimeUsingDurableNonce(
        { nonce: NONCE, nonceAccountAddress: NONCE_ACCOUNT, nonceAuthorityAddress: operator.address },
        draft,
      ),
  );
  return getBase64EncodedWireTransaction(
    await partiallySignTransaction([operator.keyPair], compileTransaction(message)),
  );
}

/** Builds a transfer of lamports from one account to another. */
export function transfer(from: Address, to: Address): Instruction {
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: AccountRole.WRITABLE_SIGNER },
      { address: to, role: AccountRole.WRITABLE },
    ],
    data: new Uint8Array([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
  };
}

function vote(member: Address): Instruction {
  return {
    programAddress: SQUADS_PROGRAM,
    accounts: [
      { address: NONCE_ACCOUNT, role: AccountRole.READONLY },
      { address: member, role: AccountRole.WRITABLE_SIGNER },
      { address: NONCE_ACCOUNT, role: AccountRole.WRITABLE },
    ],
    data: APPROVE,
  };
}
