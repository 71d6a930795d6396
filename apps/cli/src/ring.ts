/** The ring’s size in character cells. */
export const RING_COLUMNS = 14;
export const RING_ROWS = 7;

/** One cell of the drawn ring. */
export interface RingCell {
  readonly character: string;
  /** `arc` is what is done, `track` what is still open. */
  readonly layer: 'arc' | 'track' | 'empty';
}

/** A braille cell is 2 dots wide and 4 high, which makes dots about square in a terminal. */
const DOTS_ACROSS = 2;
const DOTS_DOWN = 4;
const BRAILLE_BLANK = 0x2800;
/** Unicode numbers a braille cell’s dots down the left column, then the right, and the lowest row last. */
const DOT_BITS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
];
const RADIUS = (RING_COLUMNS * DOTS_ACROSS) / 2 - 0.5;
const ARC_THICKNESS = 3;
const TRACK_THICKNESS = 1;
/** The mark is a ring with one gap, and only the end closes it. */
const OPEN_AT_MOST = 0.93;

/** The mark of the product as a progress indicator: an arc from twelve o’clock that closes at 1. */
export function drawRing(fraction: number): readonly (readonly RingCell[])[] {
  const closed = fraction >= 1 ? 1 : Math.min(Math.max(fraction, 0), OPEN_AT_MOST);
  return Array.from({ length: RING_ROWS }, (_, row) =>
    Array.from({ length: RING_COLUMNS }, (_, column) => drawCell(row, column, closed)),
  );
}

function drawCell(row: number, column: number, closed: number): RingCell {
  let arc = 0;
  let track = 0;
  for (const [down, bits] of DOT_BITS.entries()) {
    for (const [across, bit] of bits.entries()) {
      const { distance, turn } = polar(column * DOTS_ACROSS + across, row * DOTS_DOWN + down);
      if (distance > RADIUS + 0.5) continue;
      if (turn < closed && distance > RADIUS - ARC_THICKNESS) arc |= bit;
      if (distance > RADIUS - TRACK_THICKNESS) track |= bit;
    }
  }
  if (arc !== 0) return { character: String.fromCharCode(BRAILLE_BLANK + arc), layer: 'arc' };
  if (track !== 0) return { character: String.fromCharCode(BRAILLE_BLANK + track), layer: 'track' };
  return { character: ' ', layer: 'empty' };
}

/** From the ring’s middle: the distance in dots, and the way round, clockwise from twelve o’clock, from 0 to 1. */
function polar(x: number, y: number): { readonly distance: number; readonly turn: number } {
  const east = x - (RING_COLUMNS * DOTS_ACROSS - 1) / 2;
  const north = (RING_ROWS * DOTS_DOWN - 1) / 2 - y;
  const turn = Math.atan2(east, north) / (2 * Math.PI);
  return { distance: Math.hypot(east, north), turn: turn < 0 ? turn + 1 : turn };
}
