import { AddressText } from '../../ui/text.tsx';

export interface RuleListProps {
  readonly sentences: readonly string[];
  /** null if all are allowed. */
  readonly allowed: readonly string[] | null;
  readonly denied: readonly string[];
}

/** Shows rules as sentences, with every recipient that they list. */
export function RuleList({ sentences, allowed, denied }: RuleListProps) {
  return (
    <div className="flex flex-col gap-4">
      <ul className="flex flex-col gap-2">
        {sentences.length === 0 && <li>No rules.</li>}
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <Recipients title="Allowed recipients" addresses={allowed ?? []} />
      <Recipients title="Denied recipients" addresses={denied} />
    </div>
  );
}

/** A longer list is opened by a click. */
const MAX_OPEN = 10;

function Recipients({ title, addresses }: { readonly title: string; readonly addresses: readonly string[] }) {
  if (addresses.length === 0) return null;
  return (
    <details open={addresses.length <= MAX_OPEN}>
      <summary className="cursor-pointer text-sm text-quiet">
        {title} ({addresses.length})
      </summary>
      <ul className="mt-2 flex flex-col gap-1">
        {addresses.map((address) => (
          <li key={address}>
            <AddressText address={address} of="recipient" isWhole />
          </li>
        ))}
      </ul>
    </details>
  );
}
