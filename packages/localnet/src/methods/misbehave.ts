import type { Faults, Lie, StatusMethod } from '../faults.ts';
import type { Method } from '../rpc/answer-call.ts';

const STATUS_METHODS: readonly StatusMethod[] = [
  'getSignatureStatuses',
  'getBundleStatuses',
  'getInflightBundleStatuses',
];
/** The error that a lie tells of. */
const FALSE_ERROR = { InstructionError: [0, 'GenericError'] };

/** Lets faults strike calls: whole methods twice, and answers about statuses that are not true. */
export function misbehave(methods: Readonly<Record<string, Method>>, faults: Faults): Map<string, Method> {
  return new Map(
    Object.entries(methods).map(([name, method]): [string, Method] => [
      name,
      async (params) => {
        const answer = await method(params);
        if (faults.takeCall('duplicate', name)) {
          // What becomes of the second one nobody is told: the caller sent it once.
          await Promise.resolve(method(params)).catch(() => undefined);
        }
        const wrong = isStatusMethod(name) ? faults.takeCall('wrongStatus', name) : null;
        return wrong && isStatusMethod(name) ? tellLie(name, wrong.lie, params, answer) : answer;
      },
    ]),
  );
}

function isStatusMethod(name: string): name is StatusMethod {
  return STATUS_METHODS.some((method) => method === name);
}

function tellLie(method: StatusMethod, lie: Lie, params: readonly unknown[], answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('value' in answer) || !Array.isArray(answer.value)) {
    return answer;
  }
  const [asked] = params;
  const slot = 'context' in answer ? Reflect.get(Object(answer.context), 'slot') : null;
  const value = answer.value.map((status: unknown, index) => {
    const of = { method, id: Array.isArray(asked) ? asked[index] : null, slot };
    return lie === 'landed' ? claimLanded(of) : falsify(of, lie, status);
  });
  return { ...answer, value };
}

interface Subject {
  readonly method: StatusMethod;
  /** The signature or bundle that was asked about. */
  readonly id: unknown;
  readonly slot: unknown;
}

function claimLanded({ method, id, slot }: Subject): unknown {
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

function falsify({ method }: Subject, lie: Exclude<Lie, 'landed'>, status: unknown): unknown {
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
