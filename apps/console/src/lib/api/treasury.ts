import { type RotateWalletRequest, TREASURY_OPERATIONS, type WithdrawalRequest } from '@flywheel/api';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Creates a withdrawal batch. A repeated key creates no second one. */
export function withdraw(projectId: string, key: string, body: WithdrawalRequest) {
  return call(TREASURY_OPERATIONS.withdraw, { params: { projectId }, headers: { 'x-idempotency-key': key }, body });
}

/** Creates the batch that replaces a project’s wallet. */
export function rotateWallet(projectId: string, key: string, body: RotateWalletRequest) {
  return call(TREASURY_OPERATIONS.rotateWallet, { params: { projectId }, headers: { 'x-idempotency-key': key }, body });
}

/** Creates the batch that replaces a project’s company approver by the service’s present one. */
export function rotateCompany(projectId: string, key: string) {
  return call(TREASURY_OPERATIONS.rotateCompany, {
    params: { projectId },
    headers: { 'x-idempotency-key': key },
    body: {},
  });
}

/** Creates the batch that replaces a project’s operator by the service’s present one. */
export function rotateOperator(projectId: string, key: string) {
  return call(TREASURY_OPERATIONS.rotateOperator, {
    params: { projectId },
    headers: { 'x-idempotency-key': key },
    body: {},
  });
}

/** Long enough not to be a burden: a rotation takes people’s votes. */
const ROTATIONS_EVERY_MS = 10_000;

/** Lists the rotations of a project, newest first, including open ones. */
export function rotationsQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'rotations'],
    queryFn: () => call(TREASURY_OPERATIONS.listRotations, { params: { projectId } }),
    refetchInterval: ROTATIONS_EVERY_MS,
  });
}
