/** Finds screens. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  return (
    <button type="button" onClick={onClose}>
      close
    </button>
  );
}
