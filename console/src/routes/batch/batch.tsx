/** Stands for the screen until it is built. */
export function BatchScreen() {
  return <p>BatchScreen</p>;
}
