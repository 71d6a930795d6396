/** Stands for the screen until it is built. */
export function VaultScreen() {
  return <p>VaultScreen</p>;
}
