/** Stands for the screen until it is built. */
export function Proof() {
  return <p>Proof</p>;
}
