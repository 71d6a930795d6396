import { Fragment } from 'react';
import { TimeText } from './time-text.tsx';

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A sentence of the service’s, its times as people here read them. */
export function Prose({ text }: { readonly text: string }) {
  return text.split(TIME).map((part, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in order.
    <Fragment key={place}>{TIME.test(part) ? <TimeText at={part} /> : part}</Fragment>
  ));
}
