/** Stands for the screen until it is built. */
export function Compose() {
  return <p>Compose</p>;
}
