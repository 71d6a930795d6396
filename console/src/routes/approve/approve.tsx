/** Stands for the screen until it is built. */
export function Approve() {
  return <p>Approve</p>;
}
