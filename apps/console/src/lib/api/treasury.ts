import { type RotateWalletRequest, TREASURY_OPERATIONS, type WithdrawalRequest } from '@flywheel/api';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Makes the batch that takes SOL or tokens out of a vault. The same key makes it once, however often it is sent. */
export function withdraw(projectId: string, key: string, body: WithdrawalRequest) {
  return call(TREASURY_OPERATIONS.withdraw, { params: { projectId }, headers: { 'x-idempotency-key': key }, body });
}

/** Makes the batch that puts another wallet in the place of a project’s. */
export function rotateWallet(projectId: string, key: string, body: RotateWalletRequest) {
  return call(TREASURY_OPERATIONS.rotateWallet, { params: { projectId }, headers: { 'x-idempotency-key': key }, body });
}

/** Makes the batch that puts the service’s present approver in the place of a project’s. */
export function rotateCompany(projectId: string, key: string) {
  return call(TREASURY_OPERATIONS.rotateCompany, {
    params: { projectId },
    headers: { 'x-idempotency-key': key },
    body: {},
  });
}

/** Makes the batch that puts the service’s present operator in the place of a project’s. */
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
