import { type Kysely, sql } from 'kysely';

/**
 * Stores which projects the company has admitted, by multisig. Only workers write it. All projects that exist at this
 * upgrade are admitted, so that none of them stops.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table company_admissions (
      multisig text primary key,
      admitted_at timestamptz not null
    );
    insert into company_admissions (multisig, admitted_at) select distinct multisig, now() from flywheels;
  `.execute(db);
}
