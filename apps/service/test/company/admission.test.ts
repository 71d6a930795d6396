import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { changeAdmission, signAdmission } from '@flywheel/testing/decisions';
import { startTestJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type Address, address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { readSignature } from '../../src/batches/decisions.ts';
import { isAdmitted } from '../../src/store/company/admissions.ts';
import { findUnreviewedChanges, insertChange } from '../../src/store/company/changes.ts';
import { askCompany, type Operator, openCompanyWorld } from './operators.ts';

describe('the admission of a project', () => {
  let world: World;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  const isAdmittedNow = ({ multisig }: TestProject) => isAdmitted(world.db, address(multisig));

  it('follows what an operator signed, once, and nothing that somebody else wrote', async () => {
    const [project, other] = await Promise.all([createProject(world), createProject(world)]);
    const stranger = await generateKeyPairSigner();
    const path = `projects/${project.projectId}/admission`;
    const put = (body: unknown) => askCompany(world, operator, 'PUT', path, body);
    const forged = await signAdmission(world, stranger, project, 'admit');
    assertError(await put(forged), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const ofOther = await signAdmission(world, operator.wallet, other, 'admit');
    assertError(await put(ofOther), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const early = await signAdmission(world, operator.wallet, project, 'withdraw');
    assertError(await put(early), 400, 'ERR_INVALID_REQUEST', /not admitted/);
    assert.equal(await isAdmittedNow(project), false);

    const used = await signAdmission(world, operator.wallet, project, 'admit');
    assert.deepEqual(requireOk(await put(used)), { isAdmitted: true });
    assert.deepEqual(await listAdmissions(), { [project.projectId]: true, [other.projectId]: false });
    assertError(
      await changeAdmission(world, operator, project, 'admit'),
      400,
      'ERR_INVALID_REQUEST',
      /admitted already/,
    );
    assert.deepEqual(requireOk(await changeAdmission(world, operator, project, 'withdraw')), { isAdmitted: false });
    assertError(await put(used), 400, 'ERR_INVALID_REQUEST', /used before/);

    const attempts: Readonly<Record<string, () => Promise<void>>> = {
      'signed by a stranger': () => insert(project, stranger),
      'signed by a stranger in an operator’s name': () =>
        insert(project, stranger, { operator: operator.wallet.address }),
      'signed for another project': () => insert(project, operator.wallet, { signedFor: other }),
      'the end of an admission, signed': () => insert(project, operator.wallet, { signed: 'withdraw' }),
      'a nonce that was used': async () => {
        const rename = { nonce: 'another' };
        await world.db.updateTable('company_changes').set(rename).where('nonce', '=', used.nonce).execute();
        await insert(project, operator.wallet, { nonce: used.nonce });
      },
    };
    for (const [attempt, make] of Object.entries(attempts)) {
      await make();
      await review();
      assert.deepEqual([await isAdmittedNow(project), await isAdmittedNow(other)], [false, false], attempt);
    }
  });

  it('is logged with the operator who signed it, and not given by the project’s own wallet', async () => {
    const project = await createProject(world, { wallet: operator.wallet });
    assertError(await changeAdmission(world, operator, project, 'admit'), 400, 'ERR_INVALID_REQUEST', /approves with/);
    const { body } = await askCompany(world, operator, 'GET', 'audit');
    const entries = body.entries.filter(({ action }: { action: string }) => /admi/.test(action));
    assert.deepEqual(
      entries.map(({ action, actor }: { action: string; actor: string }) => [action, actor]),
      [
        ['project.admission-withdrawn', operator.address],
        ['project.admitted', operator.address],
      ],
    );
  });

  async function listAdmissions(): Promise<unknown> {
    const { projects } = requireOk(await askCompany(world, operator, 'GET', 'projects'));
    return Object.fromEntries(
      projects.map(({ id, isAdmitted: state }: { id: string; isAdmitted: boolean }) => [id, state]),
    );
  }

  /** What a thief of the database writes in place of what was signed. */
  interface Forgery {
    readonly operator?: Address;
    readonly signedFor?: TestProject;
    readonly signed?: 'admit' | 'withdraw';
    readonly nonce?: string;
  }

  /** Writes an admission as a thief of the database would. */
  async function insert(
    project: TestProject,
    wallet: KeyPairSigner,
    { operator: claimed = wallet.address, signedFor = project, signed = 'admit', nonce }: Forgery = {},
  ): Promise<void> {
    const changes = nonce === undefined ? {} : { nonce };
    const signature = readSignature(await signAdmission(world, wallet, signedFor, signed, changes));
    const change = { type: 'admission', projectId: project.projectId, decision: 'admit' } as const;
    assert.notEqual(await insertChange(world.db, { ...signature, operator: claimed, change }, new Date()), null);
  }

  /** Has a worker review the changes; resolves when none is left. */
  async function review(): Promise<void> {
    const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
    await jobs.enqueue(world.db, { type: 'review-changes' });
    await jobs.stop();
    await waitUntil(
      'the review',
      () => findUnreviewedChanges(world.db),
      ({ length }) => length === 0,
    );
  }
});
