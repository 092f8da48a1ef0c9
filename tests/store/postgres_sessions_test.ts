// needs: runtime
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../lib/store/open.ts";
import { openDatabase } from "../../lib/store/postgres/database.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import type { Store } from "../../lib/store/store.ts";
import { until } from "../until.ts";
import { findPostgres } from "./postgres_programs.ts";
import { startPostgresProxy } from "./postgres_proxy.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { append, sampleEvent, storeError } from "./samples.ts";
import { sampleAttempt, settle, subscribe } from "./webhook_samples.ts";

const programs = findPostgres();

describe("a session in PostgreSQL", { skip: programs === undefined }, () => {
  let postgres: SharedDatabase;
  const opened: Store[] = [];
  const open = async (setting: string, options = {}) => {
    const store = await openStore(setting, options);
    opened.push(store);
    return store;
  };
  before(async () => {
    postgres = await createDatabase(programs!);
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  after(() => postgres.remove());

  test("is replaced when its connection is dead, and waiting calls get an error in time", async () => {
    await open(postgres.setting({ schema: "stalled" }));
    const proxy = await startPostgresProxy(postgres.port);
    const setting = parsePostgresSetting(postgres.setting({ schema: "stalled" }));
    const database = openDatabase({ ...setting, port: proxy.port }, { answerMs: 400 });
    const answer = () => until(() => database.read("SELECT 1").catch(() => undefined));
    try {
      await answer();
      proxy.stall();
      await assert.rejects(database.read("SELECT 1"), storeError("unavailable", "does not answer"));
      const transaction = database.transaction((queries) => queries.read("SELECT 1"));
      await assert.rejects(transaction, storeError("unavailable", "does not answer"));
      proxy.flow();
      assert.equal((await answer()).length, 1);
    } finally {
      proxy.close();
      await database.close();
    }
  });

  test("keeps no lock for a process that is suspended within a transaction", async () => {
    const setting = parsePostgresSetting(postgres.setting({ schema: "still" }));
    const store = await open(postgres.setting({ schema: "still" }));
    const held = (await store.leases.acquire({ name: "one", holder: "still", durationMs: 1 }))!;
    const database = openDatabase(setting);
    const locked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const still = assert.rejects(database.transaction(async (queries) => {
      await queries.read("SELECT 1 FROM still.lease FOR UPDATE");
      locked.resolve();
      await goOn.promise;
      return await queries.read("SELECT 1");
    }));
    await locked.promise;
    const lease = await store.leases.acquire({ name: "one", holder: "other", durationMs: 1 });
    assert.ok(lease!.term > held.term);
    goOn.resolve();
    await still;
    await database.close();
  });

  test("a transaction that loses its connection fails alone, and no part of it runs elsewhere", async () => {
    await open(postgres.setting({ schema: "lost" }));
    const database = openDatabase(parsePostgresSetting(postgres.setting({ schema: "lost" })));
    const insert = "INSERT INTO lost.register VALUES ($1, '0', 0)";
    for (let n = 0; n < 5; n++) {
      const broken = assert.rejects(database.transaction(async (queries) => {
        await queries.write(insert, [`before ${n}`]);
        await Promise.allSettled([queries.read("SELECT pg_sleep(20)"), queries.write(insert, [`behind ${n}`])]);
        await queries.write(insert, [`after ${n}`]);
      }));
      const sleeping =
        "FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid() AND datname = current_database()";
      while (await postgres.sql(`SELECT pg_terminate_backend(pid) ${sleeping}`) === "") await passed(20);
      await broken;
      await database.transaction((queries) => queries.write(insert, [`next ${n}`]));
    }
    const rows = await database.read<{ name: string }>("SELECT name FROM lost.register ORDER BY name");
    assert.deepEqual(rows.map(({ name }) => name), ["next 0", "next 1", "next 2", "next 3", "next 4"]);
    await database.close();
  });

  test("stores texts with characters that PostgreSQL cannot store, without those characters", async () => {
    const store = await open(postgres.setting({ schema: "texts" }));
    await subscribe(store, "wh_1");
    const texts = { responseBody: "a\0b\ud800c", error: "\\u0000 'quoted' \\" };
    await settle(store, { subscriptionId: "wh_1", attempts: [sampleAttempt(1, texts)] });
    const [attempt] = await store.deliveries.attempts("wh_1", { limit: 1 });
    assert.deepEqual([attempt!.responseBody, attempt!.error], ["a\ufffdb\ufffdc", "\\u0000 'quoted' \\"]);
  });

  test("two transactions in a deadlock both finish", async () => {
    await open(postgres.setting({ schema: "circle" }));
    const database = openDatabase(parsePostgresSetting(postgres.setting({ schema: "circle" })));
    await database.write("INSERT INTO circle.register VALUES ('a', '0', 0), ('b', '0', 0)");
    const raise = (names: string[]) =>
      database.transaction(async (queries) => {
        for (const name of names) {
          await queries.write("UPDATE circle.register SET until_ms = until_ms + 1 WHERE name = $1", [name]);
          await queries.read("SELECT pg_sleep(0.2)");
        }
      });
    await Promise.all([raise(["a", "b"]), raise(["b", "a"])]);
    const rows = await database.read<{ until_ms: number }>("SELECT until_ms FROM circle.register");
    assert.deepEqual(rows.map(({ until_ms }) => until_ms), [2, 2]);
    await database.close();
  });

  test("notifies other gateways that the log has grown, also after the loss of the connection", async () => {
    const one = await open(postgres.setting({ schema: "news" }));
    const other = await open(postgres.setting({ schema: "news" }));
    const elsewhere = await open(postgres.setting({ schema: "no_news" }));
    const heard = { own: 0, others: 0, elsewhere: 0 };
    one.onNotification(() => heard.own++);
    other.onNotification(() => heard.others++);
    elsewhere.onNotification(() => heard.elsewhere++);
    let n = 0;
    const isHeard = async () => {
      const before = heard.others;
      for (let tries = 0; tries < 100 && heard.others === before; tries++) {
        await append(one, sampleEvent(++n));
        await passed(100);
      }
      assert.ok(heard.others > before);
    };
    await isHeard();
    await postgres.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%' AND datname = current_database()",
    );
    await isHeard();
    assert.deepEqual([heard.own, heard.elsewhere], [0, 0]);
    const [told, beganAt] = [heard.others, performance.now()];
    for (let more = 0; more < 60; more++) await append(one, sampleEvent(++n));
    await passed(200);
    const most = (performance.now() - beganAt) / 50 + 1;
    assert.ok(heard.others > told && heard.others - told <= most, `${heard.others - told} of ${most}`);
  });

  test("rejects another program's schema, and a newer program's", async () => {
    await postgres.sql("CREATE SCHEMA theirs; CREATE TABLE theirs.store (a int)");
    await assert.rejects(open(postgres.setting({ schema: "theirs" })), storeError("unavailable", "another program"));
    await open(postgres.setting({ schema: "newer" }));
    await postgres.sql("UPDATE newer.store SET schema_version = 99");
    await assert.rejects(open(postgres.setting({ schema: "newer" })), storeError("newer_schema", "99"));
    const missing = open(postgres.setting({ schema: "none" }), { mustExist: true });
    await assert.rejects(missing, storeError("missing", "gateway keygen"));
    assert.equal(await postgres.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'none'"), "0");
  });
});
