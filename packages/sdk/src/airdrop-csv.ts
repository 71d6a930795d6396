// An entry of its own: the parser of CSV is not for those who do not read files.
export {
  type AirdropCsv,
  type AirdropRow,
  type Duplicates,
  type ReadAirdropOptions,
  type RowIssue,
  readAirdropCsv,
} from '@flywheel/protocol/airdrop-csv';
