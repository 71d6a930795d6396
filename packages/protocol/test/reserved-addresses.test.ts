import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAddress } from '@solana/kit';
import { SYSVAR_CLOCK_ADDRESS, SYSVAR_SLOT_HISTORY_ADDRESS } from '@solana/sysvars';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { describeReservedAddress, RESERVED_ADDRESSES } from '../src/reserved-addresses.ts';

describe('describeReservedAddress', () => {
  it('names programs and sysvars by the addresses that their clients know', () => {
    assert.equal(describeReservedAddress(SYSTEM_PROGRAM_ADDRESS), 'the System program');
    assert.equal(describeReservedAddress(TOKEN_2022_PROGRAM_ADDRESS), 'the Token-2022 program');
    assert.equal(describeReservedAddress(SYSVAR_CLOCK_ADDRESS), 'the sysvar Clock');
    assert.equal(describeReservedAddress(SYSVAR_SLOT_HISTORY_ADDRESS), 'the sysvar SlotHistory');
  });

  it('lists only addresses of 32 bytes', () => {
    for (const address of RESERVED_ADDRESSES) assert.ok(isAddress(address), address);
  });

  it('answers null for a wallet', () => {
    assert.equal(describeReservedAddress('12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9'), null);
  });
});
