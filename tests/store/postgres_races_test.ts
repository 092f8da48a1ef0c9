// needs: once
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { heightOf } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { openDatabase, type PostgresDatabase } from "../../lib/store/postgres/database.ts";
import { tablePrefix } from "../../lib/store/postgres/schema.ts";
import { createPostgresSql } from "../../lib/store/postgres/sql.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import { postgresLog } from "../../lib/store/postgres/log.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { append, appendMany, sampleEvent } from "./samples.ts";
import {
  freshProgress,
  progressOf,
  sampleFailed,
  sampleReplay,
  settle,
  START_MS,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";

const programs = findPostgres();
const DAY_MS = 86_400_000;
const NAMES = Array.from({ length: 20 }, (_, n) => String(n).padStart(2, "0"));

describe("simultaneous work in PostgreSQL", { skip: programs === undefined }, () => {
  let postgres: SharedDatabase;
  let schemas = 0;
  let opened: { close(): Promise<void> }[] = [];
  before(async () => {
    postgres = await createDatabase(programs!);
    await postgres.useTestClock();
  });
  afterEach(async () => {
    for (const one of opened) await one.close();
    opened = [];
  });
  after(() => postgres.remove());

  /** A new store, and another way to its database, in which its tables have this prefix. */
  async function open() {
    postgres.setClock(START_MS);
    const setting = postgres.setting({ schema: `race_${++schemas}` });
    const parsed = parsePostgresSetting(setting);
    const [store, database] = [await openStore(setting), openDatabase(parsed)];
    opened.push(database, store);
    return { store, database, prefix: tablePrefix(parsed) };
  }

  /** Begins `prune`, which waits for a row that another session holds; does `work` meanwhile, and has it go on. */
  async function whilePruning(
    database: PostgresDatabase,
    lock: string,
    prune: () => Promise<number>,
    work: () => Promise<void>[],
  ): Promise<void> {
    let all: Promise<unknown[]> | undefined;
    await database.transaction(async (queries) => {
      await queries.read(lock);
      const pruning = prune();
      await passed(300);
      all = Promise.all([pruning, ...work()]);
      await passed(1_500);
    });
    await all;
  }

  test("before returns no sequence of an event of this height that is appended meanwhile", async () => {
    const { store, database, prefix } = await open();
    await append(store, sampleEvent(1), sampleEvent(2));
    let isFirst = true;
    const slow: PostgresDatabase = {
      ...database,
      async read<Row>(...query: Parameters<PostgresDatabase["read"]>) {
        const rows = await database.read<Row>(...query);
        if (isFirst) {
          isFirst = false;
          await append(store, sampleEvent(3));
        }
        return rows;
      },
    };
    const log = postgresLog({ database: slow, sql: createPostgresSql(slow, prefix), prefix });
    assert.equal(await log.before(heightOf(0, 1_003)), 2);
  });

  test("a replay that starts while its subscription is deleted is deleted too", async () => {
    const { store, database, prefix } = await open();
    await subscribe(store, "wh_1");
    let all: Promise<unknown> | undefined;
    await database.transaction(async (queries) => {
      // Holds the replay up, when it is written and not committed.
      await queries.read(`SELECT 1 FROM ${prefix}version FOR UPDATE`);
      const replaying = store.deliveries.insertReplay(sampleReplay("rp_1", "wh_1"));
      await passed(200);
      all = Promise.all([replaying, store.subscriptions.delete("wh_1")]);
      await passed(200);
    });
    await all;
    while (await store.subscriptions.purgeDeleted());
    const [row] = await database.read<{ left: number }>(`SELECT count(*) AS left FROM ${prefix}replay`);
    assert.equal(row!.left, 0);
  });

  test("a subscription can be deleted while its replay runs", async () => {
    const { store, database, prefix } = await open();
    await subscribe(store, "wh_1");
    await appendMany(store, 1, 9);
    await store.deliveries.insertReplay(sampleReplay("rp_1", "wh_1"));
    await settle(store, { subscriptionId: "wh_1", failed: [sampleFailed(1, "retrying")] });
    const leases = await workerLeases(store, "wh_1");
    let all: Promise<unknown> | undefined;
    await database.transaction(async (queries) => {
      // Holds the settlement up between its progress and its replay.
      await queries.read(`SELECT 1 FROM ${prefix}failed_delivery FOR UPDATE`);
      const replay = { id: "rp_1", cursor: 3, done: false };
      const settling = store.deliveries.settle({
        leases,
        settlements: [{ subscriptionId: "wh_1", failed: [sampleFailed(1, "dead")], replay, attempts: [] }],
      });
      await passed(200);
      const deleting = store.subscriptions.delete("wh_1");
      await passed(200);
      all = Promise.all([settling, deleting]);
      all.catch(() => {});
    });
    await all;
    assert.equal(await store.subscriptions.get("wh_1"), undefined);
  });

  test("prune keeps an intent that is written again meanwhile", async () => {
    const { store, database, prefix } = await open();
    const nameOf = (key: string) => ({ keyId: "k", kind: "transaction" as const, key });
    const write = (key: string, seen: string | undefined, version: string) => {
      const intent = { request: "r", state: version };
      return store.intents.set({ name: nameOf(key), seen, version, intent, mostOfKey: 100, mostInAll: 100 });
    };
    for (const key of ["first", ...NAMES]) await write(key, undefined, "old");
    const nowMs = START_MS + 8 * DAY_MS;
    postgres.setClock(nowMs);
    await whilePruning(
      database,
      `SELECT 1 FROM ${prefix}intent WHERE key = 'first' FOR UPDATE`,
      () => store.intents.prune(nowMs - 7 * DAY_MS),
      () =>
        NAMES.map(async (key) => {
          // Some are deleted before that.
          if (await write(key, "old", "new") === "changed") await write(key, undefined, "new");
        }),
    );
    const states = await Promise.all(NAMES.map(async (key) => (await store.intents.get(nameOf(key)))?.state));
    assert.deepEqual(states, NAMES.map(() => "new"));
  });

  test("prune keeps a shared value that is changed again meanwhile", async () => {
    const { store, database, prefix } = await open();
    const count = (name: string) =>
      store.sharedState.change<number, void>(
        name,
        (value = 0) => ({ value: value + 1, keepMs: 60_000, answer: undefined }),
      );
    await count("first");
    postgres.setClock(START_MS + 1);
    for (const name of NAMES) await count(name);
    postgres.setClock(START_MS + 100_000);
    await whilePruning(
      database,
      `SELECT 1 FROM ${prefix}register WHERE name = 'first' FOR UPDATE`,
      () => store.sharedState.prune(START_MS + 100_000),
      () => NAMES.map(count),
    );
    const values = await Promise.all(NAMES.map((name) => store.sharedState.read(name)));
    assert.deepEqual(values, NAMES.map(() => 1));
  });

  test("the store repeats a transaction after a conflict, also when a later statement's error arrives first", async () => {
    const { database } = await open();
    await postgres.sql("CREATE SEQUENCE tries");
    const lost = "DO $$ BEGIN IF nextval('tries') = 1 THEN RAISE SQLSTATE '40P01'; END IF; END $$";
    const done = await database.transaction(async (queries) => {
      const failing = queries.write(lost);
      failing.catch(() => {});
      const [row] = await queries.read<{ n: number }>("SELECT 7::bigint AS n");
      await failing;
      return row!.n;
    });
    assert.equal(done, 7);
  });

  test("a delivery that fails while its event is deleted is deleted too, also under stricter isolation", async () => {
    await postgres.sql(`ALTER DATABASE ${postgres.name} SET default_transaction_isolation = 'repeatable read'`);
    const { store, database, prefix } = await open();
    await subscribe(store, "wh_1");
    await appendMany(store, 1, 9);
    let forgetting: Promise<boolean> | undefined;
    await database.transaction(async (queries) => {
      await queries.read(`SELECT forgotten FROM ${prefix}log_start FOR SHARE`);
      forgetting = store.events.forget({ upTo: 5, undelivered: [] });
      await passed(200);
      await settle(store, { subscriptionId: "wh_1", cursor: 9, failed: [sampleFailed(3, "retrying")] });
    });
    assert.equal(await forgetting, true);
    const progress = await progressOf(store, "wh_1");
    await postgres.sql(`ALTER DATABASE ${postgres.name} RESET default_transaction_isolation`);
    assert.deepEqual(progress, freshProgress(9, { dead: 1 }));
  });
});
