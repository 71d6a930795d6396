/** Stands for the screen until it is built. */
export function Batches() {
  return <p>Batches</p>;
}
