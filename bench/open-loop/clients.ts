import { seededRandom } from '@flywheel/localnet';
import { type Connection, openConnection, textOf } from '../http-load.ts';
import { type Measured, Run, Setting } from './load.ts';
import { createTenantClients, MIX, OPERATION_NAMES, type OperationName, type TenantClients } from './operations.ts';

// The clients of an open loop, in a process of their own. Its first message is the setting; each later one asks for a run.

/** Clients come from so many addresses of this machine, because some limits are by address. */
const ADDRESSES = 50;
const MIX_TOTAL = Object.values(MIX).reduce((sum, share) => sum + share, 0);

process.once('message', (first) => {
  const { port, tenants, recipients, seed } = Setting.parse(first);
  const random = seededRandom(seed);
  const clients = tenants.map((tenant) => createTenantClients(tenant, recipients, random));
  process.on('message', async (message) => {
    process.send?.(await carryOut({ port, clients, random }, Run.parse(message)));
  });
});

interface World {
  readonly port: number;
  readonly clients: readonly TenantClients[];
  readonly random: () => number;
}

function carryOut(world: World, run: Run): Promise<Measured> {
  switch (run.kind) {
    case 'closed':
      return runClosed(world, run);
    case 'each':
      return runEach(world, run);
    case 'open':
      return runOpen(world, run);
    default:
      return run satisfies never;
  }
}

async function runClosed(world: World, { clients, seconds }: Extract<Run, { kind: 'closed' }>): Promise<Measured> {
  const sheet = openSheet();
  const endsAt = performance.now() + 1_000 * seconds;
  const loop = async (connection: Connection) => {
    while (performance.now() < endsAt) await sendOne(world, sheet, connection, pick(world), performance.now());
    connection.close();
  };
  await Promise.all(openConnections(world, clients).map(loop));
  return sheet.measured();
}

async function runEach(world: World, { times }: Extract<Run, { kind: 'each' }>): Promise<Measured> {
  const sheet = openSheet();
  const [connection] = openConnections(world, 1);
  if (!connection) throw new Error('One connection was opened.');
  for (let i = 0; i < times; i++) {
    for (const name of OPERATION_NAMES) await sendOne(world, sheet, connection, name, performance.now());
  }
  connection.close();
  return sheet.measured();
}

/** Sends what is due on a free connection, or later on the next that becomes free. */
async function runOpen(
  world: World,
  { clients, seconds, perSecond }: Extract<Run, { kind: 'open' }>,
): Promise<Measured> {
  const sheet = openSheet();
  const free = openConnections(world, clients);
  const due: number[] = [];
  const sending = new Set<Promise<void>>();
  const sendDue = () => {
    while (due.length > 0 && free.length > 0) {
      const [dueAt, connection] = [due.shift(), free.shift()];
      if (dueAt === undefined || connection === undefined) return;
      const sent = sendOne(world, sheet, connection, pick(world), dueAt).then(() => {
        sending.delete(sent);
        free.push(connection);
        sendDue();
      });
      sending.add(sent);
    }
  };
  const start = performance.now();
  // The times between arrivals of a Poisson process.
  const nextGap = () => (-Math.log(1 - world.random()) * 1_000) / perSecond;
  for (let nextAt = start + nextGap(); nextAt < start + 1_000 * seconds; ) {
    const waitMs = nextAt - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    for (const now = performance.now(); nextAt <= now; nextAt += nextGap()) due.push(nextAt);
    sendDue();
  }
  while (sending.size > 0) await Promise.all(sending);
  for (const connection of free) connection.close();
  return sheet.measured();
}

async function sendOne(
  { port, clients, random }: World,
  sheet: Sheet,
  connection: Connection,
  name: OperationName,
  dueAt: number,
): Promise<void> {
  const tenant = clients[Math.floor(random() * clients.length)];
  if (!tenant) throw new Error('A project is missing.');
  try {
    const answer = await connection.send(textOf(port, tenant.request(name)));
    sheet.note(name, performance.now() - dueAt, answer.status, answer.body);
    tenant.note(name, answer);
  } catch (error) {
    sheet.note(name, performance.now() - dueAt, null, String(error));
  }
}

function pick({ random }: World): OperationName {
  let left = random() * MIX_TOTAL;
  for (const name of OPERATION_NAMES) {
    left -= MIX[name];
    if (left < 0) return name;
  }
  return 'get';
}

function openConnections({ port }: World, count: number): Connection[] {
  return Array.from({ length: count }, (_, i) =>
    openConnection({ port, localAddress: `127.0.0.${1 + (i % ADDRESSES)}` }),
  );
}

type Sheet = ReturnType<typeof openSheet>;

function openSheet() {
  const took: Partial<Record<OperationName, number[]>> = {};
  const start = performance.now();
  let [limited, errors] = [0, 0];
  let firstError: string | null = null;
  return {
    note: (name: OperationName, tookMs: number, status: number | null, text: string) => {
      if (status === 429) {
        limited += 1;
        return;
      }
      const sample = took[name] ?? [];
      took[name] = sample;
      sample.push(tookMs);
      if (status !== null && status < 300) return;
      errors += 1;
      firstError ??= `${name}: ${status ?? 'no answer'} ${text}`;
    },
    measured: (): Measured => ({ took, limited, errors, firstError, seconds: (performance.now() - start) / 1_000 }),
  };
}
