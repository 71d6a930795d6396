/** Stands for the screen until it is built. */
export function Company() {
  return <p>Company</p>;
}
