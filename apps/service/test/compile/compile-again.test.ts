import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newProject, randomAddress } from '@flywheel/testing/records';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { compileAgain } from '../../src/batches/compile-again.ts';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { DamagedRecord } from '../../src/store/damaged-record.ts';

test('compileAgain refuses an instruction that it cannot describe, such as one of the program in a forged token', async () => {
  const { token, ...project } = newProject();
  for (const programAddress of [TOKEN_PROGRAM_ADDRESS, randomAddress()]) {
    const changed = { ...project, token: { ...token, programAddress } };
    const request = [{ type: 'ORDER', payload: '{"id":1}', actions: [{ action: 'BURN', amount: 1 } as const] }];
    const pipelines = await compilePipelines(request, changed);
    const content = compileAgain(changed, { id: 'b', kind: 'pipelines', pipelines });
    if (programAddress === TOKEN_PROGRAM_ADDRESS) await content;
    else await assert.rejects(content, (error) => error instanceof DamagedRecord && /instruction/.test(error.message));
  }
});
