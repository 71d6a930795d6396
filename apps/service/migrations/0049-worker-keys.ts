import { type Kysely, sql } from 'kysely';

/** Stores the addresses of the keys with which the worker that started last signs. A move asks if they are those of its project. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table worker_keys (
      role text not null check (role in ('company', 'operator')),
      address text not null,
      primary key (role, address)
    );
  `.execute(db);
}
