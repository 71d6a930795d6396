import type { KeyRole } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { ColumnType, Generated } from 'kysely';

/** The tables of projects that move between shards, as migrations/ leaves them. */
export interface ShardTables {
  shard_identity: ShardIdentityTable;
  project_moves: ProjectMovesTable;
  departed_rows: DepartedRowsTable;
  project_arrivals: ProjectArrivalsTable;
  flywheel_owners: FlywheelOwnersTable;
  worker_keys: WorkerKeysTable;
}

/** One row, once the database has been the source or the destination of a move. */
interface ShardIdentityTable {
  only_row: Generated<boolean>;
  id: Generated<string>;
}

/** Projects that have left this shard. */
interface ProjectMovesTable {
  id: string;
  project_id: string;
  /** The `shard_identity` of the database that it moves to. */
  destination: string;
  multisig: Address;
  /** Prefixes of its API keys, by which this shard recognizes a request for it. */
  key_prefixes: string[];
  departed_at: Generated<Date>;
  /** null until the other shard has taken all its rows. */
  arrived_at: Date | null;
}

/** Rows of a project that is on its way, in parts of one table each. */
interface DepartedRowsTable {
  move_id: string;
  table_name: string;
  part: number;
  /** Written as text: the driver would take an array for a PostgreSQL array. */
  rows: ColumnType<readonly object[], string, string>;
}

/** Moves whose rows this shard has taken. */
interface ProjectArrivalsTable {
  move_id: string;
  arrived_at: Generated<Date>;
}

/** The project of each flywheel whose batches are in this shard. A trigger stores it with the flywheel. */
interface FlywheelOwnersTable {
  flywheel_id: string;
  project_id: string;
}

/** Keys of the worker that started last. */
interface WorkerKeysTable {
  role: KeyRole;
  address: Address;
}
