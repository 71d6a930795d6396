/** Stands for the screen until it is built. */
export function Overview() {
  return <p>Overview</p>;
}
