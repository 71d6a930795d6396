import { markdownTable, significant } from '../figures.ts';
import { readPart } from '../results.ts';

/** The measured costs of one operation. Those of a batch depend on the number of pipelines. */
export interface UnitCost {
  readonly operation: Operation;
  /** Pipelines of the batch; 0 if the operation has no batch. */
  readonly pipelines: number;
  readonly serveCpuMs: number;
  readonly workCpuMs: number;
  /** CPU of all processes of PostgreSQL. */
  readonly databaseCpuMs: number;
  /** CPU of the process with the cluster, the clients and the proxies that count. */
  readonly otherCpuMs: number;
  readonly roundTrips: number;
  /** Bytes between the service and the database, both ways. */
  readonly databaseBytes: number;
  readonly walBytes: number;
  readonly rpcCalls: number;
  readonly engineRequests: number;
  readonly bundles: number;
  readonly transactions: number;
  /** Declared compute units of the transactions, which a block counts until they have been executed. */
  readonly computeUnits: number;
  /** Fees and tips, which do not come back. */
  readonly spentLamports: number;
  /** Rent that the operator has locked when the operation is over, and its nonce. */
  readonly lockedLamports: number;
  /** Time of one alone; 0 where it was not measured. */
  readonly aloneMs: number;
}

export const OPERATIONS = [
  'register',
  'init',
  'preview',
  'get',
  'current',
  'list',
  'console list',
  'proof lookup',
  'execute request',
  'setup',
  'execution',
  'closing',
  'webhook',
  'idle second',
] as const;
export type Operation = (typeof OPERATIONS)[number];

export type Amount = Exclude<keyof UnitCost, 'operation' | 'pipelines'>;

const COLUMNS: readonly (readonly [amount: Amount, title: string])[] = [
  ['serveCpuMs', 'serve CPU, ms'],
  ['workCpuMs', 'work CPU, ms'],
  ['databaseCpuMs', 'PostgreSQL CPU, ms'],
  ['otherCpuMs', 'cluster and client CPU, ms'],
  ['roundTrips', 'round trips'],
  ['databaseBytes', 'bytes to and from PostgreSQL'],
  ['walBytes', 'WAL bytes'],
  ['rpcCalls', 'RPC calls'],
  ['engineRequests', 'engine requests'],
  ['bundles', 'bundles'],
  ['transactions', 'transactions'],
  ['computeUnits', 'compute units'],
  ['spentLamports', 'lamports spent'],
  ['lockedLamports', 'lamports locked'],
  ['aloneMs', 'alone, ms'],
];
const AMOUNTS = COLUMNS.map(([amount]) => amount);

export function formatCosts(costs: readonly UnitCost[]): string {
  const rows = costs.map((cost) => [
    cost.operation,
    String(cost.pipelines),
    ...AMOUNTS.map((amount) => significant(cost[amount])),
  ]);
  return markdownTable(['operation', 'pipelines', ...COLUMNS.map(([, title]) => title)], rows);
}

/** Reads the rows of the table that begins with this column: cells by column, without the head. @throws Error if there is none. */
export function readTable(text: string, firstColumn: string): string[][] {
  const lines = text.split('\n');
  const head = lines.findIndex((line) => line.startsWith(`| ${firstColumn} |`));
  if (head === -1) throw new Error(`There is no table whose first column is ${firstColumn}.`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? rest.length : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Reads the costs that `npm run bench -- --record costs` has measured. @throws Error if their table has another format. */
export async function readCosts(): Promise<Costs> {
  return parseCosts(await readPart('costs'));
}

export function parseCosts(text: string): Costs {
  const rows = readTable(text, 'operation').map(([operation, pipelines, ...cells]): UnitCost => {
    const known = OPERATIONS.find((name) => name === operation);
    const values = cells.map(Number);
    if (known === undefined || values.length !== AMOUNTS.length || !values.every(Number.isFinite)) {
      throw new Error(`No row of unit costs: ${[operation, pipelines, ...cells].join(' | ')}`);
    }
    const amounts = Object.fromEntries(AMOUNTS.map((amount, i) => [amount, values[i]])) as Record<Amount, number>;
    return { operation: known, pipelines: Number(pipelines), ...amounts };
  });
  return createCosts(rows);
}

/** Unit costs for any number of pipelines. */
export interface Costs {
  readonly rows: readonly UnitCost[];
  /** Interpolates between the measured numbers of pipelines, and continues the last two beyond them. */
  of(operation: Operation, pipelines?: number): UnitCost;
}

export function createCosts(rows: readonly UnitCost[]): Costs {
  const measured = new Map(
    OPERATIONS.map((operation) => [
      operation,
      rows.filter((row) => row.operation === operation).toSorted((a, b) => a.pipelines - b.pipelines),
    ]),
  );
  const known = new Map<string, UnitCost>();
  const interpolate = (operation: Operation, pipelines: number): UnitCost => {
    const sizes = measured.get(operation) ?? [];
    const above = sizes.findIndex((row) => row.pipelines >= pipelines);
    const right = above === -1 ? sizes.length - 1 : above;
    const [low, high] = [sizes[Math.max(0, right - 1)], sizes[right]];
    if (!low || !high) throw new Error(`There is no unit cost of ${operation}.`);
    if (low === high || low.pipelines === high.pipelines) return high;
    const share = (pipelines - low.pipelines) / (high.pipelines - low.pipelines);
    const amounts = Object.fromEntries(
      AMOUNTS.map((amount) => [amount, low[amount] + share * (high[amount] - low[amount])]),
    ) as Record<Amount, number>;
    return { operation, pipelines, ...amounts };
  };
  return {
    rows,
    of: (operation, pipelines = 0) => {
      const key = `${operation} ${pipelines}`;
      const found = known.get(key) ?? interpolate(operation, pipelines);
      known.set(key, found);
      return found;
    },
  };
}
