import fc from 'fast-check';

// A fuzz run as plain values, which fast-check can generate, print and shrink. `act.ts` turns them into instructions
// for the state that the chain then has. Most choices favour progress.

export type RunPlan = Value<ReturnType<typeof runPlan>>;
export type TransactionPlan = Value<typeof transactionPlan>;
export type Step = Value<typeof step>;
export type Addition = Value<typeof addition>;
export type InnerPlan = Value<typeof innerPlan>;
export type ConfigActionPlan = Value<typeof configAction>;
export type ConfigChange = Value<typeof configChange>;
export type Damage = Value<typeof damage>;
export type Person = Value<typeof person>;

type Value<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Generated> ? Generated : never;

const person = fc.constantFrom('operator', 'company', 'wallet', 'stranger');
const operator = mostly(fc.constant('operator' as const), person);
const voter = mostly(fc.constantFrom('company', 'wallet'), person);
const off = mostly(fc.constant(0), fc.constantFrom(-1, 1, 2));
// Distance of a batch from the newest one.
const back = mostly(fc.constant(0), fc.nat(2));
const token = fc.nat(1);
const recipient = fc.nat(3);
const amount = mostly(fc.bigInt(0n, 50n), fc.constantFrom(10_000_000n, 2n ** 64n - 1n));

const innerPlan = fc.oneof(
  { weight: 16, arbitrary: fc.record({ kind: is('burn'), token, amount }) },
  { weight: 16, arbitrary: fc.record({ kind: is('airdrop'), token, recipient, amount, create: likely(true) }) },
  {
    weight: 16,
    arbitrary: fc.record({
      kind: is('memo'),
      length: fc.nat(60),
      signedBy: mostly(fc.constantFrom('vault', 'nobody', 'operator'), fc.constant('ephemeral' as const)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: is('pay'),
      from: fc.constantFrom('vault', 'vault', 'operator'),
      to: fc.constantFrom('company', 'recipient', 'multisig'),
      lamports: fc.constantFrom(1n, 1_000_000n, 20_000_000_000n),
      signed: likely(true),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('touch'), what: fc.constantFrom('batch', 'proposal', 'multisig') }) },
  { weight: 1, arbitrary: fc.record({ kind: is('call nothing') }) },
);

const messageSpoil = fc.oneof(
  fc.record({ kind: is('cut'), bytes: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: is('overwrite'), at: fc.nat(3), byte: fc.nat(255) }),
);

const configChange = fc.oneof(
  fc.record({ kind: is('add member'), who: fc.nat(8), permissions: fc.nat(8), paid: likely(true) }),
  fc.record({ kind: is('remove member'), who: fc.nat(8) }),
  fc.record({ kind: is('threshold'), threshold: fc.nat(3) }),
  fc.record({ kind: is('time lock'), seconds: fc.constantFrom(0, 5, 7_776_000, 7_776_001) }),
);

// Spending limits are left out: the emulation stores them, and only the real program executes them.
const configAction = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: is('replace member'), who: fc.nat(3), by: fc.nat(8) }) },
  { weight: 3, arbitrary: fc.record({ kind: is('add member'), who: fc.nat(8), permissions: fc.nat(8) }) },
  { weight: 3, arbitrary: fc.record({ kind: is('remove member'), who: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ kind: is('threshold'), threshold: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: is('time lock'), seconds: fc.constantFrom(0, 5, 7_776_000, 7_776_001) }) },
  { weight: 1, arbitrary: fc.record({ kind: is('rent collector'), isGiven: likely(true) }) },
);

const newConfig = fc.record({
  kind: is('create config'),
  by: operator,
  rentPayer: operator,
  draft: fc.boolean(),
  propose: likely(true),
  actions: mostly(fc.array(configAction, { minLength: 1, maxLength: 2 }), fc.array(configAction, { maxLength: 3 })),
});

const addition = fc.record({
  kind: is('add'),
  back,
  by: operator,
  off,
  ephemerals: mostly(fc.constant(0), fc.constantFrom(1, 3)),
  inner: fc.array(innerPlan, { maxLength: 4 }),
  spoil: mostly(fc.constant(null), messageSpoil),
  tables: fc.boolean(),
});

const newBatch = fc.record({
  kind: is('create'),
  by: operator,
  rentPayer: operator,
  draft: likely(true),
  propose: likely(true),
  additions: fc.array(addition, { maxLength: 2 }),
});

const step = fc.oneof(
  // The step that the batch needs next.
  { weight: 60, arbitrary: fc.record({ kind: is('next'), back, addition }) },
  { weight: 3, arbitrary: newBatch },
  { weight: 6, arbitrary: newConfig },
  { weight: 2, arbitrary: fc.record({ kind: is('execute config'), back, by: operator, paid: likely(true) }) },
  { weight: 2, arbitrary: fc.record({ kind: is('close config'), back, to: operator }) },
  { weight: 3, arbitrary: addition },
  { weight: 1, arbitrary: fc.record({ kind: is('propose'), back, by: operator, draft: fc.boolean(), off }) },
  { weight: 1, arbitrary: fc.record({ kind: is('activate'), back, by: operator }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: is('vote'),
      back,
      by: voter,
      vote: fc.constantFrom('approve', 'approve', 'approve', 'reject', 'cancel', 'cancel_v2'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: is('execute'), back, by: operator, off }) },
  { weight: 1, arbitrary: fc.record({ kind: is('close transaction'), back, off, to: operator }) },
  { weight: 1, arbitrary: fc.record({ kind: is('close batch'), back, to: operator }) },
  { weight: 1, arbitrary: fc.record({ kind: is('configure'), by: operator, change: configChange }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: is('found'),
      again: fc.boolean(),
      threshold: fc.nat(3),
      permissions: fc.array(fc.nat(8), { maxLength: 4 }),
      timeLockSeconds: fc.constantFrom(0, 7_776_000, 7_776_001),
      toTreasury: likely(true),
      twins: unlikely(true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: is('pay'),
      from: fc.constantFrom('operator', 'operator', 'stranger', 'vault', 'vault'),
      to: fc.constantFrom('vault', 'next batch', 'next proposal', 'company'),
      signed: fc.boolean(),
      // At least the rent of an empty account: between two instructions the emulation is stricter than the chain.
      lamports: fc.constantFrom(890_880n, 3_000_000n),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('burn directly'), amount, signed: unlikely(true) }) },
);

const damage = fc.oneof(
  fc.record({ kind: is('drop account') }),
  fc.record({ kind: is('weaken'), account: fc.nat(8), to: fc.constantFrom('readonly', 'not signing') }),
  fc.record({ kind: is('swap'), account: fc.nat(8), from: fc.nat(8) }),
  fc.record({ kind: is('cut'), bytes: fc.integer({ min: 1, max: 12 }) }),
);

const transactionPlan = fc.record({
  version: fc.constantFrom(...([0, 0, 'legacy', 1] as const)),
  tables: fc.boolean(),
  steps: mostly(fc.array(step, { minLength: 1, maxLength: 1 }), fc.array(step, { minLength: 1, maxLength: 3 })),
  damage: mostly(fc.constant(null), fc.record({ instruction: fc.nat(3), damage })),
  unitPriceMicroLamports: mostly(fc.constant(null), fc.integer({ min: 1, max: 100_000 })),
  waitSeconds: fc.constantFrom(0, 0, 0, 0, 1, 7),
});

/** @param transactions maximum of one run; the average is half of it. */
export function runPlan(transactions: number) {
  return fc.record({
    // Config transactions need a multisig without a config authority.
    isControlled: fc.boolean(),
    timeLockSeconds: fc.constantFrom(0, 0, 0, 5),
    hasRentCollector: likely(true),
    walletLamports: mostly(fc.constant(100_000_000_000n), fc.constantFrom(12_000_000n, 25_000_000n)),
    creationFeeLamports: fc.constantFrom(0n, 0n, 1_000_000n),
    transactions: fc.array(transactionPlan, { minLength: 1, maxLength: transactions, size: 'max' }),
  });
}

function is<Kind extends string>(kind: Kind): fc.Arbitrary<Kind> {
  return fc.constant(kind);
}

function mostly<Usual, Rare>(usual: fc.Arbitrary<Usual>, rare: fc.Arbitrary<Rare>): fc.Arbitrary<Usual | Rare> {
  return fc.oneof({ weight: 11, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

function likely(value: boolean): fc.Arbitrary<boolean> {
  return mostly(fc.constant(value), fc.constant(!value));
}

function unlikely(value: boolean): fc.Arbitrary<boolean> {
  return likely(!value);
}
