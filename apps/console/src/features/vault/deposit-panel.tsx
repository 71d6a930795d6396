import { MAX_BASE_UNITS } from '@flywheel/protocol';
import { fundAccount } from '@flywheel/solana-rpc';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { encode } from 'uqr';
import { useLocalBank } from '../../lib/localnet.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';

export interface DepositPanelProps {
  readonly vault: string;
  readonly mint: string;
  readonly decimals: number;
}

/** Shows how to deposit: the address, a QR code, links that open a wallet (Solana Pay). */
export function DepositPanel({ vault, mint, decimals }: DepositPanelProps) {
  const solLink = `solana:${vault}?label=Flywheel%20vault`;
  const tokenLink = `${solLink}&spl-token=${mint}`;
  return (
    <Panel title="Deposit">
      <div className="flex flex-col gap-5 sm:flex-row">
        <QrCode text={tokenLink} label="QR code: a token deposit to the vault, for a wallet to scan" />
        <div className="flex min-w-0 flex-1 flex-col items-start gap-3">
          <p>Batches spend tokens from the vault, and SOL for recipients’ new token accounts. Anyone can deposit.</p>
          <p className="font-mono text-sm break-all" data-testid="vault-address">
            {vault}
          </p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={vault} label="Copy address" />
            <a href={tokenLink} className={LINK}>
              Send tokens
            </a>
            <a href={solLink} className={LINK}>
              Send SOL
            </a>
          </div>
          <LocalDeposit {...{ vault, mint, decimals }} />
        </div>
      </div>
    </Panel>
  );
}

const LINK =
  'inline-flex h-11 items-center rounded border border-line-strong/60 px-2.5 text-sm font-medium hover:bg-sunken md:h-7';
const LOCAL_LAMPORTS = 1_000_000_000n;
const LOCAL_TOKENS = 1_000n;

/** Whole tokens of a deposit: fewer if a mint of so many decimals cannot have ten times as many. */
function localTokens(decimals: number): bigint {
  const most = MAX_BASE_UNITS / 10n ** BigInt(decimals + 1);
  return most < LOCAL_TOKENS ? most : LOCAL_TOKENS;
}

/** Deposits SOL and tokens from nowhere, which only the local cluster can; nothing on any other. */
export function LocalDeposit({ vault, mint, decimals }: DepositPanelProps) {
  const queries = useQueryClient();
  const bankUrl = useLocalBank();
  const tokens = localTokens(decimals);
  const amounts = `${tokens.toLocaleString('en')} ${tokens === 1n ? 'token' : 'tokens'}`;
  const deposit = useMutation({
    mutationFn: () =>
      fundAccount(bankUrl ?? '', {
        address: vault,
        lamports: LOCAL_LAMPORTS,
        mint,
        baseUnits: tokens * 10n ** BigInt(decimals),
      }),
    onSuccess: () => queries.invalidateQueries(),
  });
  if (bankUrl === null) return null;
  return (
    <>
      <Button
        size="small"
        className="max-sm:whitespace-normal"
        isBusy={deposit.isPending}
        onClick={() => deposit.mutate()}
      >
        Local cluster: deposit 1 SOL, {amounts}
      </Button>
      {deposit.isSuccess && (
        <p role="status" className="text-sm text-done">
          Deposited 1 SOL and {amounts}.
        </p>
      )}
      {deposit.error && <ErrorNotice error={deposit.error} />}
    </>
  );
}

/** A QR code, black on white whatever the theme: readers expect it so. */
function QrCode({
  text,
  label,
  size = 168,
}: {
  readonly text: string;
  readonly label: string;
  readonly size?: number;
}) {
  const { path, modules } = useMemo(() => {
    const { data, size: count } = encode(text, { ecc: 'M', border: 2 });
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { path: dark.join(''), modules: count };
  }, [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${modules} ${modules}`}
      width={size}
      height={size}
      shapeRendering="crispEdges"
      className="rounded"
    >
      <rect width={modules} height={modules} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}
