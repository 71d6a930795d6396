import { parseNodeOrigin } from '@flywheel/api';

/** A node as the visitor named it. */
export type NodeUrl =
  | { readonly url: string; readonly origin: string; readonly issue: null }
  | { readonly issue: string };

/**
 * Reads the URL of a node that this page may be allowed to connect to.
 * @param ownNode URL of the cluster's node that the service names to browsers; null while it is not known.
 */
export function readNodeUrl(text: string, ownNode: string | null): NodeUrl {
  if (!URL.canParse(text)) return { issue: 'Enter the URL of a Solana node, for example https://rpc.example.com.' };
  const { origin, host } = new URL(text);
  const isOwnNode = ownNode !== null && new URL(ownNode).origin === origin;
  if (!isOwnNode && host === location.host)
    return { issue: 'This is the service itself. An audit reads a Solana node.' };
  if (isOwnNode || parseNodeOrigin(origin) !== null) return { url: text, origin, issue: null };
  return { issue: 'The URL must begin with https:// and a host name. Plain http is for nodes on this computer.' };
}

/** The form of an audit, with the texts of the visitor; each is valid, or empty. */
export interface AuditDraft {
  /** The whole URL of the node. Its path may hold a key, which neither the service nor the address bar gets. */
  readonly url: string;
  readonly from: string;
  readonly to: string;
  readonly multisig: string;
  /** null for no limit. */
  readonly requestsPerSecond: number | null;
  readonly isConfirmed: boolean;
}

/** The draft that this tab remembers while it loads the page again, whose policy then admits the node. */
export interface RememberedDraft extends AuditDraft {
  /** The vault whose audit begins when the page is loaded, because its button was pressed; null for none. */
  readonly starts: string | null;
}

const STORAGE_KEY = 'flywheel.audit';

/** Reads what this tab remembers of a node; null if it has named another one. */
export function recallDraft(origin: string): RememberedDraft | null {
  const text = sessionStorage.getItem(STORAGE_KEY);
  if (text === null) return null;
  const remembered: RememberedDraft = JSON.parse(text); // written by rememberDraft, in this tab
  return new URL(remembered.url).origin === origin ? remembered : null;
}

export function rememberDraft(draft: RememberedDraft): void {
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(draft));
}
