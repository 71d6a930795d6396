/** Random numbers that a seed decides, so that a simulation can be repeated. */
export interface Random {
  /** Draws evenly from [0, 1). */
  next(): number;
  /** Draws from the exponential distribution with this mean. */
  exponential(mean: number): number;
  /** Draws from the Poisson distribution with this mean. */
  poisson(mean: number): number;
}

/** Creates the generator sfc32 (PractRand, Chris Doty-Humphrey), which needs four words of state. */
export function createRandom(seed: number): Random {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, seed | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < WARM_UP; i++) next();
  const exponential = (mean: number) => -Math.log(1 - next()) * mean;
  const poisson = (mean: number) => {
    if (mean > LARGE) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(next)));
    let count = 0;
    for (let left = mean - exponential(1); left > 0; left -= exponential(1)) count++;
    return count;
  };
  return { next, exponential, poisson };
}

/** Seeds that differ by one bit give unlike numbers after so many draws. */
const WARM_UP = 15;
/** From here on a normal distribution is as good, and does not take a draw for each event. */
const LARGE = 50;

/** Draws from the standard normal distribution (Box and Muller). */
function normal(next: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}
