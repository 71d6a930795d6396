import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  confirmPin,
  expectedOfMultisig,
  expectedOfRegistration,
  findPin,
  NO_PINS,
  parsePins,
  pinRegistration,
  pinSigned,
  pinVerified,
  type RegistrationTerms,
} from '@flywheel/sdk';
import { type Address, address } from '@solana/kit';

const NOW = new Date('2026-11-22T12:00:00.000Z');
const PLACE = { service: 'https://flywheel.example', cluster: 'genesis' };
const OTHER_CLUSTER = { ...PLACE, cluster: 'other genesis' };
const WALLET = addressOf(1);

describe('pins', () => {
  const registered = pinRegistration(NO_PINS, PLACE, termsOf({ company: addressOf(2), operator: addressOf(3) }), NOW);
  const [pin] = registered.multisigs;
  assert.ok(pin);
  const { multisig, vaultAddress, mintAddress } = pin;

  it('expect the addresses of the last registration, and none on another cluster or service', () => {
    assert.equal(expectedOfRegistration(NO_PINS, PLACE), undefined);
    const expected = { company: [addressOf(2)], operator: [addressOf(3)] };
    assert.deepEqual(expectedOfRegistration(registered, PLACE), expected);
    assert.equal(expectedOfRegistration(registered, OTHER_CLUSTER), undefined);
    assert.equal(expectedOfRegistration(registered, { ...PLACE, service: 'https://other.example' }), undefined);
    const trusted = expectedOfRegistration(registered, PLACE, [addressOf(9)]);
    assert.deepEqual(trusted?.company, [addressOf(2), addressOf(9)]);
    // The old key is not accepted any more: it could name another successor.
    const next = pinRegistration(registered, PLACE, termsOf({ company: addressOf(4), multisig: addressOf(11) }), NOW);
    assert.deepEqual(expectedOfRegistration(next, PLACE)?.company, [addressOf(4)]);
    assert.equal(next.multisigs.length, 2);
  });

  it('find the multisig of a wallet by its vault and mint, and name what differs', () => {
    const find = (claimed: Parameters<typeof findPin>[2]['claimed'], place = PLACE, wallet: string = WALLET) =>
      findPin(registered, place, { wallet, claimed });
    assert.deepEqual(find({ vaultAddress, mintAddress }), { pin });
    assert.deepEqual(find(null), { pin });
    assert.deepEqual(find({ vaultAddress, mintAddress }, OTHER_CLUSTER), { pin: null });
    assert.deepEqual(find({ vaultAddress, mintAddress }, PLACE, addressOf(8)), { pin: null });
    assert.deepEqual(find({ vaultAddress: addressOf(8), mintAddress }), { known: [pin], found: null });
    assert.deepEqual(find({ vaultAddress, mintAddress: addressOf(8) }), { known: [pin], found: pin });
    assert.deepEqual(expectedOfMultisig(pin), { multisig, company: addressOf(2), operator: addressOf(3) });
  });

  it('keep a signed registration beside its multisig until it was compared with the chain', () => {
    const { costLamports, predecessors, ...signed } = termsOf({});
    const pins = pinSigned(NO_PINS, PLACE, termsOf({}), NOW);
    const { pin: pending } = findPin(pins, PLACE, { wallet: WALLET, claimed: { vaultAddress, mintAddress } });
    assert.deepEqual(pending?.signed, signed);
    assert.deepEqual(parsePins(JSON.parse(JSON.stringify(pins))), pins);
    const { recovery: _, ...damaged } = signed;
    assert.equal(parsePins({ ...pins, multisigs: [{ ...pending, signed: damaged }] }), null);
    // Its keys are not those of the service yet.
    assert.equal(expectedOfRegistration(pins, PLACE), undefined);
    // Another vault of this wallet is no first use any more.
    const other = findPin(pins, PLACE, { wallet: WALLET, claimed: { vaultAddress: addressOf(8), mintAddress } });
    assert.deepEqual(other, { known: [pending], found: null });
    assert.ok(pending);
    assert.deepEqual(confirmPin(pins, pending).multisigs, [pin]);
    assert.deepEqual(pinRegistration(pins, PLACE, termsOf({}), NOW).multisigs, [pin]);
  });

  it('keep verified members only, and only what is new', () => {
    const keep = (company: Address, operator: Address | null, isVerified = true, pins = registered) =>
      pinVerified(
        pins,
        PLACE,
        { wallet: WALLET, multisig, vaultAddress, mintAddress, verification: { isVerified, company, operator } },
        NOW,
      );
    assert.equal(keep(addressOf(2), addressOf(3)), null);
    assert.equal(keep(addressOf(5), addressOf(3), false), null);
    const moved = keep(addressOf(2), addressOf(5));
    assert.deepEqual([moved?.before?.operator, moved?.pin.operator], [addressOf(3), addressOf(5)]);
    assert.deepEqual(moved?.pins.multisigs, [moved?.pin]);
    const first = keep(addressOf(2), null, true, NO_PINS);
    assert.equal(first?.before, null);
    assert.equal(first?.pin.multisig, multisig);
  });

  it('are parsed from their own JSON, of earlier releases too, and from nothing else', () => {
    assert.deepEqual(parsePins(JSON.parse(JSON.stringify(registered))), registered);
    const { operator: _, ...earlier } = pin;
    const file = { ...registered, multisigs: [earlier] };
    assert.deepEqual(parsePins(file), file);
    const damaged = { ...registered, multisigs: [{ ...pin, vaultAddress: null }] };
    for (const other of [null, [], {}, 'pins', { ...registered, services: [{}] }, damaged]) {
      assert.equal(parsePins(other), null, JSON.stringify(other));
    }
  });
});

function termsOf(changes: Partial<RegistrationTerms>): RegistrationTerms {
  return {
    wallet: WALLET,
    mint: addressOf(6),
    tokenProgram: addressOf(7),
    multisig: addressOf(10),
    vaultAddress: addressOf(12),
    company: addressOf(2),
    operator: addressOf(3),
    recovery: null,
    lookupTable: addressOf(13),
    costLamports: 1n,
    predecessors: { company: [], operator: [] },
    ...changes,
  };
}

/** An address for each small number. */
function addressOf(n: number): Address {
  return address('1'.repeat(31) + '23456789ABCDEFGH'.charAt(n));
}
