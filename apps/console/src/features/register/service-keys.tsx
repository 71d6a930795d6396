import type { RegistrationRefusal, RegistrationTerms } from '@flywheel/sdk';
import { Notice } from '../../ui/feedback.tsx';
import { AddressText } from '../../ui/text.tsx';
import { TrustForm } from '../../ui/trust-form.tsx';

interface UnknownServiceKeyProps {
  /** Why the registration is refused, a sentence each. */
  readonly issues: readonly string[];
  readonly unknown: RegistrationRefusal['unknownKeys'][number];
  readonly onTrust: (address: string) => void;
}

/** Refuses a key that this browser does not know, until the person names its address. */
export function UnknownServiceKey({ issues, unknown: { role: of, address }, onTrust }: UnknownServiceKeyProps) {
  return (
    <Notice tone="failed" title={`Do not register: this browser knows another ${of} of this service`}>
      <IssueList issues={issues} />
      <p className="mt-2">
        A new key is accepted by itself if the one that this browser knows has signed it. If the {of} has lost that key,
        ask the company for the new address, not through this page, and enter it here.
      </p>
      <TrustForm key={address} of={of} address={address} onTrust={() => onTrust(address)} />
    </Notice>
  );
}

export function IssueList({ issues }: { readonly issues: readonly string[] }) {
  return (
    <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
      {issues.map((issue) => (
        <li key={issue} className="break-words">
          {issue}
        </li>
      ))}
    </ul>
  );
}

/** Says what is new to this browser about the keys of a verified registration. */
export function KeyNews({ terms, isFirst }: { readonly terms: RegistrationTerms; readonly isFirst: boolean }) {
  const { company, operator, predecessors } = terms;
  if (isFirst) {
    return (
      <Notice tone="plain" title="First registration with this service in this browser">
        This browser keeps the company and the operator shown above. A later registration that names others is refused,
        unless the earlier key has signed the new one, or you name its address.
      </Notice>
    );
  }
  const changes = [
    ...predecessors.company.map((from) => ({ name: 'The company', from, to: company })),
    ...predecessors.operator.map((from) => ({ name: 'The operator', from, to: operator })),
  ];
  return changes.map(({ name, from, to }) => (
    <Notice key={`${name} ${from}`} tone="plain" title={`${name} has a new key`}>
      The key known to this browser <AddressText address={from} of="earlier key" isWhole /> has signed that{' '}
      <AddressText address={to} of="new key" isWhole /> succeeds it.
    </Notice>
  ));
}
