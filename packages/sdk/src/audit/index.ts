export type { AuditGap } from './account-history.ts';
export { type AuditOptions, type AuditQuery, auditVault } from './audit-vault.ts';
export type { FlowKind } from './flows.ts';
export type { AuditBound } from './period.ts';
export type { AssetTotals, AuditRecord, AuditReport } from './report.ts';
export { type AuditState, parseAuditState, stringifyAuditState } from './state.ts';
export { readVaultMovements, type VaultMovement, type VaultMovementsQuery } from './vault-movements.ts';
