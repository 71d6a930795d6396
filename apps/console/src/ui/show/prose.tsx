import { Fragment, type ReactNode } from 'react';
import { AddressText } from './address-text.tsx';
import { TimeText } from './time-text.tsx';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** 64 bytes in base58, and 32. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const WORD = /(\d{4}-\d\d-\d\dT[\d:.]+Z|\b[1-9A-HJ-NP-Za-km-z]{32,88}\b)/;

/** A sentence of the service’s: its times are local ones, its addresses and signatures short. */
export function Prose({ text }: { readonly text: string }) {
  return text.split(WORD).map((part, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in order.
    <Fragment key={place}>{shown(part)}</Fragment>
  ));
}

function shown(part: string): ReactNode {
  if (TIME.test(part)) return <TimeText at={part} />;
  if (SIGNATURE.test(part)) return <AddressText address={part} kind="signature" isLinked />;
  return ADDRESS.test(part) ? <AddressText address={part} /> : part;
}
