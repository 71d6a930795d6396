import type { Faults, Lie, StatusMethod } from '../faults.ts';
import type { Method } from '../rpc/answer-call.ts';

const STATUS_METHODS: readonly StatusMethod[] = [
  'getSignatureStatuses',
  'getBundleStatuses',
  'getInflightBundleStatuses',
];
/** Error that a false status reports. */
const FALSE_ERROR = { InstructionError: [0, 'GenericError'] };

/** Wraps methods so that faults can apply: a call that is executed twice, or a response with a false status. */
export function injectFaults(methods: Readonly<Record<string, Method>>, faults: Faults): Map<string, Method> {
  return new Map(
    Object.entries(methods).map(([name, method]): [string, Method] => [
      name,
      async (params) => {
        const answer = await method(params);
        if (faults.takeCall('duplicate', name)) {
          // The result of the second execution is dropped: the caller sent the call once.
          await Promise.resolve(method(params)).catch(() => undefined);
        }
        const wrong = isStatusMethod(name) ? faults.takeCall('wrongStatus', name) : null;
        return wrong && isStatusMethod(name) ? falsifyStatuses(name, wrong.lie, params, answer) : answer;
      },
    ]),
  );
}

function isStatusMethod(name: string): name is StatusMethod {
  return STATUS_METHODS.some((method) => method === name);
}

function falsifyStatuses(method: StatusMethod, lie: Lie, params: readonly unknown[], answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('value' in answer) || !Array.isArray(answer.value)) {
    return answer;
  }
  const [asked] = params;
  const slot = 'context' in answer ? Reflect.get(Object(answer.context), 'slot') : null;
  const value = answer.value.map((status: unknown, index) => {
    const of = { method, id: Array.isArray(asked) ? asked[index] : null, slot };
    return lie === 'landed' ? landedStatus(of) : falseStatus(of, lie, status);
  });
  return { ...answer, value };
}

interface Subject {
  readonly method: StatusMethod;
  /** Signature or bundle id of the request. */
  readonly id: unknown;
  readonly slot: unknown;
}

function landedStatus({ method, id, slot }: Subject): unknown {
  switch (method) {
    case 'getSignatureStatuses':
      return { slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: 'finalized' };
    case 'getBundleStatuses':
      return { bundle_id: id, transactions: [], slot, confirmation_status: 'finalized', err: { Ok: null } };
    case 'getInflightBundleStatuses':
      return { bundle_id: id, status: 'Landed', landed_slot: slot };
    default:
      return method satisfies never;
  }
}

function falseStatus({ method }: Subject, lie: Exclude<Lie, 'landed'>, status: unknown): unknown {
  const known = typeof status === 'object' && status !== null ? status : null;
  switch (method) {
    case 'getSignatureStatuses':
      return lie === 'unknown' || !known ? null : { ...known, err: FALSE_ERROR, status: { Err: FALSE_ERROR } };
    case 'getBundleStatuses':
      return lie === 'unknown' || !known ? null : { ...known, err: { Err: FALSE_ERROR } };
    case 'getInflightBundleStatuses':
      return known && { ...known, status: lie === 'unknown' ? 'Invalid' : 'Failed', landed_slot: null };
    default:
      return method satisfies never;
  }
}
