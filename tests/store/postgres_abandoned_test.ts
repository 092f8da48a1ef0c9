// needs: runtime
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDatabase } from "../../lib/store/postgres/database.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { until } from "../until.ts";
import { type PostgresProxy, startPostgresProxy } from "./postgres_proxy.ts";

const programs = findPostgres();
const skip = programs === undefined && "needs PostgreSQL's programs";
let postgres: SharedDatabase;
let proxy: PostgresProxy;
before(async () => {
  if (programs === undefined) return;
  postgres = await createDatabase(programs);
  await postgres.sql("CREATE TABLE public.done (n integer)");
  proxy = await startPostgresProxy(postgres.port);
});
after(async () => {
  proxy?.close();
  await postgres?.remove();
});

test(
  "a transaction whose caller got a timeout does not commit later, whether it had started or not",
  { skip },
  async () => {
    const setting = { ...parsePostgresSetting(postgres.setting({ pool: "2" })), port: proxy.port };
    const database = openDatabase(setting, { answerMs: 500 });
    const answer = () => until(() => database.read("SELECT n FROM public.done").catch(() => undefined));
    let begun = 0;
    const insert = (n: number) =>
      database.transaction(async (queries) => {
        begun += 1;
        await queries.write("INSERT INTO public.done (n) VALUES ($1)", [n]);
      });
    try {
      await answer();
      proxy.stall();
      const results = await Promise.allSettled(Array.from({ length: 200 }, (_, n) => insert(n)));
      assert.ok(results.every(({ status }) => status === "rejected"));
      const begunInTime = begun;
      proxy.cut();
      proxy.flow();
      // This read starts after all earlier calls.
      assert.deepEqual([...await answer()], []);
      assert.equal(begun, begunInTime);
    } finally {
      await database.close();
    }
  },
);

test("a statement whose caller got a timeout stops waiting for a lock at the server", { skip }, async () => {
  const setting = parsePostgresSetting(postgres.setting({ pool: "2" }));
  const database = openDatabase(setting, { answerMs: 5_000 });
  const count = async (rows: string) => Number(await postgres.sql(`SELECT count(*) FROM ${rows}`));
  const locks =
    "pg_locks JOIN pg_database ON oid = database AND datname = current_database() WHERE relation = 'public.done'::regclass";
  const operator = postgres.sql("BEGIN; LOCK TABLE public.done; SELECT pg_sleep(300)").catch(() => {});
  try {
    await until(async () => await count(`${locks} AND granted`) > 0);
    await Promise.all([database.read("SELECT 1"), database.read("SELECT 1")]);
    const inserts = Array.from({ length: 4 }, () => database.write("INSERT INTO public.done (n) VALUES (1)"));
    const results = await Promise.allSettled(inserts);
    assert.ok(results.every(({ status }) => status === "rejected"));
    await until(async () => await count(`${locks} AND NOT granted`) === 0);
  } finally {
    await postgres.sql(`SELECT pg_terminate_backend(pid) FROM ${locks} AND granted`);
    await operator;
    await database.close();
  }
  assert.equal(await count("public.done"), 0);
});
