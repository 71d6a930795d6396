import Fastify from 'fastify';
import pg from 'pg';

// A server as small as one can write it, in a process of its own: POST stores the body with one INSERT, GET reads a row with
// one SELECT; both answer the bytes that are given at start. It reports its port.
const [databaseUrl, postAnswer = '', getAnswer = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query(
  'create table if not exists bare_bodies (id bigint generated always as identity primary key, body text)',
);
const { rows } = await pool.query('insert into bare_bodies (body) values ($1) returning id', [getAnswer]);
const app = Fastify();
app.post('/init', async (request, reply) => {
  await pool.query('insert into bare_bodies (body) values ($1)', [JSON.stringify(request.body)]);
  return reply.header('content-type', 'application/json; charset=utf-8').send(postAnswer);
});
app.get<{ Params: { id: string } }>('/batch/:id', async (request, reply) => {
  const found = await pool.query('select body from bare_bodies where id = $1', [request.params.id]);
  return reply.header('content-type', 'application/json; charset=utf-8').send(found.rows[0].body);
});
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: Number(new URL(url).port), id: String(rows[0].id) });
