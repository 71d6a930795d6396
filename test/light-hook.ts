import asyncHooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from 'node:async_hooks';

/**
 * Preloaded into test processes. `node:test` finds the test in which code runs with an async hook, which follows every promise
 * from its creation to its destruction: a sixth of the CPU of a test of the service. This module finds it with an
 * AsyncLocalStorage instead, which costs nothing per promise. Its test compares the reports of both.
 */
const { createHook, executionAsyncId } = asyncHooks;
const { runInAsyncScope } = AsyncResource.prototype;
const inScope = <Result>(resource: AsyncResource, work: () => Result): Result =>
  Reflect.apply<AsyncResource, [() => Result], Result>(runInAsyncScope, resource, [work]);
/** Async id of the test, suite or hook in which code runs. */
const running = new AsyncLocalStorage<number>();

// `node:test` reads both when it is imported for the first time (Node 26, lib/internal/test_runner/harness.js).
Object.assign(asyncHooks, {
  executionAsyncId: () => running.getStore() ?? executionAsyncId(),
  createHook: ({ init }: HookCallbacks) => {
    AsyncResource.prototype.runInAsyncScope = function (work, thisArg, ...args) {
      const id = this.asyncId();
      const call: () => ReturnType<typeof work> = () => Reflect.apply(work, thisArg, args);
      if (!isTest(this)) return inScope(this, call);
      // The harness remembers the test of this id.
      init?.(id, 'Test', this.triggerAsyncId(), this);
      return inScope(this, () => running.run(id, call));
    };
    const hook = { enable: () => hook, disable: () => hook };
    return hook;
  },
});
await import('node:test');
Object.assign(asyncHooks, { createHook, executionAsyncId });

/** Tells if a resource is a test, suite or hook of `node:test`, which does not export their common class. */
function isTest(resource: object): boolean {
  for (let each = Object.getPrototypeOf(resource); each !== null; each = Object.getPrototypeOf(each)) {
    if (each.constructor.name === 'Test') return true;
  }
  return false;
}
