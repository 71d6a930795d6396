import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS } from '@flywheel/api';
import { errorsPage } from '../src/errors-page.ts';

describe('the page of errors', () => {
  const page = errorsPage();

  it('has a section for every code, with an example that is an answer', () => {
    for (const code of Object.keys(ERRORS)) {
      const [, section = ''] = page.split(`\n## ${code}\n`);
      const [, example = ''] = /```json\n(.*)\n```/.exec(section) ?? [];
      const { error, message } = JSON.parse(example);
      assert.equal(error, code);
      assert.match(message, /^\S.*[.]$/);
      assert.doesNotMatch(message, /undefined|\[object/);
    }
  });

  it('links every row of its table to a section', () => {
    const anchors = [...page.matchAll(/\]\(#([a-z_]+)\)/g)].map(([, anchor = '']) => anchor);
    assert.deepEqual(
      anchors.map((anchor) => anchor.toUpperCase()),
      Object.keys(ERRORS),
    );
  });
});
