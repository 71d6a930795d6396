/** Stands for the screen until it is built. */
export function PublicVault() {
  return <p>PublicVault</p>;
}
