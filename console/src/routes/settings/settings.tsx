/** Stands for the screen until it is built. */
export function Settings() {
  return <p>Settings</p>;
}
