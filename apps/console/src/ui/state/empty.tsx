import type { ReactNode } from 'react';
import { Ring } from '../drawn/ring.tsx';

/** Says what will be here, and how to get the first one. */
export function Empty({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 rounded-lg border border-dashed px-6 py-12 text-center">
      <Ring size={32} closed={0.12} className="text-quiet" />
      <h3 className="text-lg font-medium">{title}</h3>
      <div className="flex w-full max-w-xl flex-col items-center gap-4 text-quiet">{children}</div>
    </div>
  );
}
