/** Stands for the screen until it is built. */
export function ProjectFrame() {
  return <p>ProjectFrame</p>;
}
