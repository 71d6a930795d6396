import { useEnvironment } from '../../lib/api/environment.ts';
import { badgeSample, widgetSample } from '../../lib/samples.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Panel } from '../../ui/layout.tsx';

/** Offers what a project puts on its own pages: a badge and a widget with what its vault has burned. */
export function EmbedPanel({ vault }: { readonly vault: string }) {
  const environment = useEnvironment();
  if (!environment) return null;
  const place = { publicUrl: environment.publicUrl, vault };
  return (
    <Panel
      title="Badge and widget"
      aside={
        <a
          href={`/embed/${vault}`}
          target="_blank"
          rel="noreferrer"
          className="tap inline-flex min-h-6 items-center text-sm text-accent underline"
        >
          Open the widget
        </a>
      }
    >
      <div className="flex flex-col gap-4">
        <p>
          Show on your own pages what the vault has burned, and its last proof. Anyone can read these figures on chain.
          They count only what is final, and are at most two minutes old.
        </p>
        <img
          src={`/embed/${vault}/badge.svg`}
          alt="Badge: what the vault has burned"
          height={20}
          className="self-start"
        />
        <CodeBlock label="Badge, Markdown" code={badgeSample(place)} />
        <CodeBlock label="Widget, HTML" code={widgetSample(place)} />
      </div>
    </Panel>
  );
}
