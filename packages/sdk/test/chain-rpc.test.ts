import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isFlywheelError } from '@flywheel/sdk';
import { askRpc } from '../src/chain/rpc.ts';
import { startStubService } from './stub-service.ts';

describe('askRpc', () => {
  it('names the host once, and nothing else of the URL, if the node is unreachable', async () => {
    await using node = await startStubService(() => 'hangUp');
    const url = `${node.url}/secret-path`;
    await assert.rejects(askRpc(url, 'getSlot', []), (error) => {
      assert.ok(isFlywheelError(error, 'ERR_UNREACHABLE'), String(error));
      assert.match(error.message, new RegExp(`^getSlot: ${new URL(url).host} is unreachable: `));
      assert.doesNotMatch(error.message, /secret-path/);
      return true;
    });
  });
});
