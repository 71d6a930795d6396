import type { MultisigPin } from '@flywheel/sdk';
import { Notice } from '../../ui/feedback.tsx';
import { AddressText } from '../../ui/text.tsx';
import { TrustForm } from '../../ui/trust-form.tsx';
import type { VerifiedApproval } from './verification.ts';

/** Says what is new to this browser about the multisig of a verified batch; nothing if it is known and unchanged. */
export function MultisigNews({ approval }: { readonly approval: VerifiedApproval }) {
  const { pin } = approval.known.search;
  if (pin === undefined) return null;
  return pin === null ? <FirstUse approval={approval} /> : <MovedMembers pin={pin} approval={approval} />;
}

function FirstUse({ approval: { shown, verification } }: { readonly approval: VerifiedApproval }) {
  const { company } = verification;
  return (
    <Notice tone="waiting" title="First use of this multisig in this browser">
      <p>
        The vault is <AddressText address={shown.vaultAddress} of="vault" isWhole />, the token is{' '}
        <AddressText address={shown.mintAddress} of="mint" isWhole />, and{' '}
        {company !== null && <AddressText address={company} of="company" isWhole />} votes for the company. Compare them
        with what you know from the registration. When you approve, this browser keeps them, and refuses others from
        then on.
      </p>
      {verification.onChain.multisig.hasChanged && (
        <p className="mt-2">
          The members or settings of this multisig have changed before. A batch that earlier members have approved can
          still be executed. If you do not know of the change, read the history of{' '}
          <AddressText address={shown.multisig} of="multisig" isLinked isWhole /> before you approve or deposit.
        </p>
      )}
    </Notice>
  );
}

/** In a known multisig, no member changes without the wallet’s vote. */
function MovedMembers({ pin, approval }: { readonly pin: MultisigPin; readonly approval: VerifiedApproval }) {
  const { company, operator } = approval.verification;
  const moves = [
    { name: 'The company’s vote', from: pin.company, to: company },
    { name: 'The operator', from: pin.operator ?? operator, to: operator },
  ].filter(({ from, to }) => from !== to);
  return moves.map(
    ({ name, from, to }) =>
      from !== null &&
      to !== null && (
        <Notice key={name} tone="plain" title={`${name} has moved to another key`}>
          From <AddressText address={from} of="earlier key" isWhole /> to{' '}
          <AddressText address={to} of="present key" isWhole />. Your wallet has approved this on chain: without its
          vote no member changes.
        </Notice>
      ),
  );
}

interface UnknownVaultProps {
  readonly approval: VerifiedApproval;
  /** Why the vault is not known, a sentence. */
  readonly reason: string;
  readonly onTrust: () => void;
}

/** Refuses a vault that this browser does not know, until the person names its address. */
export function UnknownVault({ approval: { shown, known }, reason, onTrust }: UnknownVaultProps) {
  return (
    <Notice tone="failed" title="Do not sign: this browser does not know this vault">
      <p>{reason}</p>
      <p className="mt-2">
        If you registered this project in another browser, enter its vault as you noted it there. Otherwise report this
        to the company, but not through this page.
      </p>
      {known.search.pin === undefined && known.search.found === null && (
        <TrustForm of="vault" address={shown.vaultAddress} onTrust={onTrust} />
      )}
    </Notice>
  );
}
