/** Stands for the screen until it is built. */
export function Keys() {
  return <p>Keys</p>;
}
