import { once } from 'node:events';
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { BatchEvent } from '@flywheel/api';

export interface EventStreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Events as they arrive; ends when the stream ends. */
  readonly events: AsyncGenerator<BatchEvent, void>;
  /** Everything that was read so far, comments included. */
  text(): string;
  close(): void;
}

/** Opens a stream on a connection of its own, whose end ends the stream. */
export async function openEvents(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventStreamAnswer> {
  const request = get(new URL(path, url), { headers, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (!response) throw new Error('There was no answer.');
  response.setEncoding('utf8');
  let received = '';
  async function* read() {
    let left = '';
    for await (const chunk of response ?? []) {
      received += chunk;
      left += chunk;
      for (let end = left.indexOf('\n\n'); end !== -1; end = left.indexOf('\n\n')) {
        const event = parse(left.slice(0, end));
        left = left.slice(end + 2);
        if (event) yield event;
      }
    }
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events: read(),
    text: () => received,
    close: () => request.destroy(),
  };
}

/** Collects all events until the stream ends. */
export async function allEvents({ events }: EventStreamAnswer): Promise<BatchEvent[]> {
  return Array.fromAsync(events);
}

/** Parses one block; null for comments and settings. */
function parse(block: string): BatchEvent | null {
  const field = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const [id, type, text] = [field('id'), field('event'), field('data')];
  if (text === undefined) return null;
  const event = BatchEvent.parse(JSON.parse(text));
  if (event.id !== id || event.type !== type) throw new Error(`The frame says ${id} ${type}, its data ${text}.`);
  return event;
}
