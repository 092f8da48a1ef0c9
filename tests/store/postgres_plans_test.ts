// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { StoreDriver } from "../../lib/store/checked_store.ts";
import { heightOf } from "../../lib/store/event.ts";
import type { EventFilter } from "../../lib/store/event.ts";
import { openDatabase, type PostgresDatabase, type Queries } from "../../lib/store/postgres/database.ts";
import type { Parameter } from "../../lib/store/sql/database.ts";
import { migrate, tablePrefix } from "../../lib/store/postgres/schema.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import { createPostgresDriver } from "../../lib/store/postgres/open.ts";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { sampleEvent, sampleState } from "./samples.ts";
import { sampleAttempt, sampleFailed, sampleSubscription, START_MS } from "./webhook_samples.ts";

const EVENTS = 60_000;

/**
 * Tables so large, with their statistics, that the planner should use an index. Rows that change all the time have many dead
 * versions, as during a long transaction elsewhere. The statistics cover all rows. The server's own vacuum would take a new
 * random sample each time, of 300 rows for each unit of the target.
 */
const FILL = `
  SET search_path = gateway;
  DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'gateway' LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name);
  END LOOP; END $$;
  INSERT INTO event_type SELECT n, 'type ' || n FROM generate_series(1, 9) n;
  INSERT INTO contract VALUES (1, 'C');
  INSERT INTO event (sequence, indexed_sequence, type, contract, height, place, event_index, closed_at, known_at, is_late,
      tx_hash, device_hash, agent, merchant)
    SELECT n, n, CASE WHEN n < 9000 AND n % 3 = 0 THEN 3 ELSE 1 + n % 2 END, 1, n, 1, 1, n, n, n % 500 = 0,
      decode('01' || md5(n::text), 'hex'), decode('01' || md5((n % 200)::text), 'hex'),
      decode('01' || md5((n % 50)::text), 'hex'), decode('01' || md5((n % 7)::text), 'hex')
    FROM generate_series(1, ${EVENTS}) n;
  INSERT INTO height_start SELECT n, n FROM generate_series(1, ${EVENTS}) n;
  UPDATE log_end SET last = ${EVENTS}, height = ${EVENTS};
  DO $$ BEGIN FOR n IN 1..3000 LOOP
    UPDATE log_end SET version = version + 1;
    UPDATE watcher SET version = version + 1, state = '{}';
  END LOOP; END $$;
  INSERT INTO undecoded_event SELECT ${heightOf(1, 1)} + n, 1, 1, 1, n, '', '{}' FROM generate_series(1, 20000) n;
  INSERT INTO submission SELECT 'h' || n, n, n, 'G' || n % 9, 'o', CASE WHEN n % 99 > 0 THEN '{}' END
    FROM generate_series(1, 20000) n;
  INSERT INTO sent_transaction (hash, key_id, kind, source, reference, submitted_at_ms, place, status)
    SELECT 'h' || n, 'k' || n % 2, 'k' || n % 3, 'G' || n % 9, 'r' || n % 5000, n, lpad(n::text, 9, '0'),
      CASE WHEN n % 99 > 0 THEN 'success' ELSE 'failed' END FROM generate_series(1, 20000) n;
  INSERT INTO reference SELECT 'h' || n, 'k' || n % 2, 'r' || n % 5000, n FROM generate_series(1, 20000) n;
  INSERT INTO intent SELECT 'k' || n % 9, 'replay', n, n, 'r', '{}', null, n FROM generate_series(1, 20000) n;
  INSERT INTO register SELECT 'r' || n, '1', n FROM generate_series(1, 20000) n;
  INSERT INTO subscription (id, key_id, url, ordered, secret, created_at, start_height)
    SELECT 'wh_' || n, 'k' || n % 99, 'u', false, 's', 'c', 0 FROM generate_series(1, 5000) n;
  INSERT INTO progress (subscription, cursor) SELECT number, 1 FROM subscription;
  INSERT INTO replay SELECT 'rp_' || number, number, 1, 2, 1, 2, 3, true, 4 FROM subscription WHERE number % 5 = 0;
  INSERT INTO failed_delivery SELECT 1 + n / 1000, n, CASE WHEN n % 3 = 0 THEN 'retrying' ELSE 'dead' END, 1,
      CASE WHEN n % 3 = 0 THEN n END, 1, 1 FROM generate_series(1, 40000) n;
  INSERT INTO attempt SELECT 1 + n % 40, n, null, 'e', 't', 1, n, 1, 'delivered', 200, null, null, null
    FROM generate_series(1, 40000) n;
  SET default_statistics_target = 300;
  ANALYZE`;

interface Statement {
  sql: string;
  parameters: Parameter[];
}

/** A plan step that reads all of a growing table. Pruning takes hundreds of rows in a step, and may read a small table. */
const GONE_THROUGH =
  /Seq Scan on (event |undecoded_event|height_start|log_end|watcher|submission|sent_transaction|reference|intent |register|subscription|progress|failed|attempt)/;

/** The database, and the statements that it gets. */
function listening(database: PostgresDatabase): { database: PostgresDatabase; statements: Statement[] } {
  const statements: Statement[] = [];
  const heard = (queries: Queries): Queries => ({
    read: (sql, parameters = []) => (statements.push({ sql, parameters }), queries.read(sql, parameters)),
    write: (sql, parameters = []) => (statements.push({ sql, parameters }), queries.write(sql, parameters)),
  });
  const transaction: PostgresDatabase["transaction"] = (work) =>
    database.transaction((queries) => work(heard(queries)));
  return { database: { ...database, ...heard(database), transaction }, statements };
}

function describePlans(programs: string): void {
  let postgres: SharedDatabase;
  let database: PostgresDatabase;
  let driver: StoreDriver;
  let statements: Statement[];
  before(async () => {
    postgres = await createDatabase(programs);
    const setting = parsePostgresSetting(postgres.setting());
    database = openDatabase(setting);
    const id = await migrate(database, setting, {});
    await postgres.sql(FILL);
    const heard = listening(database);
    statements = heard.statements;
    driver = createPostgresDriver(heard.database, setting.location, tablePrefix(setting), id);
  });
  after(async () => {
    await database.close();
    await postgres.remove();
  });

  /** The steps of a statement's plan. */
  async function planOf({ sql, parameters }: Statement): Promise<string[]> {
    const rows = await database.read<{ "QUERY PLAN": string }>(`EXPLAIN (COSTS OFF) ${sql}`, parameters);
    return rows.map((row) => row["QUERY PLAN"]);
  }

  /** The statements since, without those on a table of one row. */
  async function asked(work: () => unknown): Promise<Statement[]> {
    const before = statements.length;
    await work();
    return statements.slice(before);
  }

  /** A driver in a schema of its own, still empty, and its statements; the watcher's lease. */
  async function openEmpty(schema: string) {
    const setting = parsePostgresSetting(postgres.setting({ schema }));
    const id = await migrate(database, setting, {});
    const heard = listening(database);
    const empty = createPostgresDriver(heard.database, setting.location, tablePrefix(setting), id);
    const acquire = async (name: string) => (await empty.leases.acquire({ name, holder: "h", durationMs: 60_000 }))!;
    return { empty, heard: heard.statements, acquire, lease: await acquire("watcher") };
  }

  const FIND = "Index Scan(?: Backward)? using";
  const deviceHash = "x";
  const searches: [string, EventFilter, RegExp][] = [
    ["nothing", {}, new RegExp(`${FIND} event_pkey`)],
    ["a type", { types: ["type 3"] }, new RegExp(`${FIND} event_by_type`)],
    ["types, one of them gone", { types: ["type 3", "type 1", "type 9"] }, new RegExp(`${FIND} event_by_type`)],
    ["a device", { deviceHash }, new RegExp(`${FIND} event_by_device_hash`)],
    ["an agent", { agent: "x", fromHeight: 30_000 }, new RegExp(`${FIND} event_by_agent`)],
    ["a merchant", { merchant: "x", types: ["type 1", "type 2"] }, new RegExp(`${FIND} event_by_merchant`)],
    ["a transaction", { txHash: "x", types: ["type 1"] }, new RegExp(`${FIND} event_by_tx_hash`)],
    ["an end", { types: ["type 1"], toHeight: 30_000 }, new RegExp(`${FIND} event_(by_type|late)`)],
  ];
  for (const [name, filter, range] of searches) {
    test(`a filter on ${name} is ranges of one index, in order, in both directions`, async () => {
      for (const order of ["asc", "desc"] as const) {
        const asking = await asked(() => driver.events.read({ filter, after: 40, order, limit: 100 }));
        const select = asking.findLast(({ sql }) => sql.includes("indexed_sequence"))!;
        const steps = await planOf(select);
        const found = steps.filter((step) =>
          /^[ >-]*(Sort|.* Scan.*)(?! Key)( |$)/.test(step) && !/Sort Key/.test(step)
        );
        assert.ok(found.length > 0);
        for (const step of found) assert.match(step, range, steps.join("\n"));
      }
    });
  }

  test("a plan from an empty log does not read the whole log for each append", async () => {
    const { empty, heard, lease } = await openEmpty("empty");
    await empty.events.append({ lease, events: [sampleEvent(1)], state: sampleState(1) });
    const looks = heard.filter(({ sql }) => sql.includes("undecoded_event"));
    assert.equal(looks.length, 1);
    const steps = await planOf(looks[0]!);
    assert.ok(!steps.some((step) => /Seq Scan on|hashed/.test(step)), steps.join("\n"));
  });

  test("a plan from a store with few failed deliveries finds each one by its key", async () => {
    const { empty, heard, acquire, lease } = await openEmpty("failing");
    await empty.subscriptions.insert(sampleSubscription("wh_1"), 99);
    const events = Array.from({ length: 1_600 }, (_, at) => sampleEvent(at + 1));
    await empty.events.append({ lease, events, state: sampleState(1) });
    const leases = [await acquire(partitionLease(partitionOf("wh_1")))];
    for (let first = 1; first < 1_600; first += 200) {
      const failed = Array.from({ length: 200 }, (_, at) => sampleFailed(first + at, "dead"));
      await empty.deliveries.settle({ leases, settlements: [{ subscriptionId: "wh_1", failed, attempts: [] }] });
    }
    const look = heard.findLast(({ sql }) => /^SELECT .*failed_delivery/s.test(sql))!;
    const steps = await postgres.sql(
      `SET plan_cache_mode = force_generic_plan; PREPARE look (text) AS ${look.sql}; EXPLAIN (COSTS OFF) EXECUTE look ('[]')`,
    );
    assert.match(steps, /Index Scan using failed_delivery_pkey.*\n +Index Cond: \(.*subscription = .*sequence = /);
  });

  test("the comparison of two subjects' events uses an index for every subject", async () => {
    const subjects: [string, EventFilter][] = [
      ["tx_hash", { txHash: "x", merchant: "x" }],
      ["device_hash", { deviceHash: "x", merchant: "x" }],
      ["agent", { agent: "x", merchant: "x" }],
      ["merchant", { agent: "x", merchant: "x" }],
    ];
    for (const [column, filter] of subjects) {
      const [first] = await asked(() => driver.events.read({ filter, order: "desc", limit: 100 }));
      assert.match(first!.sql, /^SELECT count/);
      // The first count found the rarer of these two. The count of the other has the same form.
      const sql = first!.sql.replace("agent =", `${column} =`);
      const steps = await postgres.sql(
        `SET plan_cache_mode = force_generic_plan; PREPARE look (bytea) AS ${sql}; EXPLAIN (COSTS OFF) EXECUTE look ('')`,
      );
      assert.match(steps, new RegExp(`Index (Only )?Scan using event_by_${column} `), steps);
    }
  });

  test("the server keeps a bounded number of plans for searches of many forms, and answers all", async () => {
    const types = Array.from({ length: 9 }, (_, n) => `type ${n + 1}`);
    const one: EventFilter[] = [{}, { deviceHash: "x" }, { agent: "x" }, { merchant: "x" }, { txHash: "x" }];
    const pairs = one.flatMap((first, at) => one.slice(at + 1).map((second) => ({ ...first, ...second })));
    let forms = 0;
    for (const subject of [{}, ...pairs]) {
      for (let named = 1; named <= types.length; named++) {
        for (const heights of [{}, { fromHeight: 500 }, { toHeight: 5_000 }, { fromHeight: 500, toHeight: 5_000 }]) {
          for (const order of ["asc", "desc"] as const) {
            const filter = { ...subject, ...heights, types: types.slice(0, named) };
            const found = await driver.events.read({ filter, order, limit: 2 });
            assert.equal(found.length, Object.keys(subject).length === 0 ? 2 : 0);
            forms++;
          }
        }
      }
    }
    const [row] = await database.read<{ kept: number }>("SELECT count(*) AS kept FROM pg_prepared_statements");
    assert.ok(row!.kept <= 500, `${row!.kept} plans are kept of ${forms} forms`);
  });

  test("a step of forget reads the events that it deletes, not all later ones", async () => {
    const { events } = driver;
    const { forgotten } = await events.bounds();
    const asking = await asked(() => events.forget({ upTo: forgotten + 50, undelivered: [] }));
    const { sql } = asking.find(({ sql }) => /^DELETE FROM \S+height_start/.test(sql))!;
    const steps = await postgres.sql(`EXPLAIN (ANALYZE, COSTS OFF) ${sql.replace("$1", String(forgotten + 100))}`);
    const looked = [...steps.matchAll(/Rows Removed by Filter: (\d+)/g)].map(([, rows]) => Number(rows));
    assert.ok(looked.every((rows) => rows < 1_000), steps);
  });

  test("no statement reads all of a growing table", async () => {
    const lease = (await driver.leases.acquire({ name: "watcher", holder: "h", durationMs: 60_000 }))!;
    const name = partitionLease(partitionOf("wh_7"));
    const partition = (await driver.leases.acquire({ name, holder: "h", durationMs: 60_000 }))!;
    const { events, deliveries, subscriptions, submissions, references, intents, sharedState, keys } = driver;
    const { transactions } = driver;
    const of = { keyId: "k1", kind: "replay" as const, key: "7" };
    const asking = await asked(async () => {
      const event = sampleEvent(EVENTS, { deviceHash: "x" });
      await events.append({
        lease,
        events: [event, { ...sampleEvent(EVENTS + 1), type: null, raw: { topics: [], value: "" } }],
        state: sampleState(1),
      });
      await events.append({ lease, events: [sampleEvent(EVENTS + 1)], state: sampleState(1) });
      await events.get(event.id);
      await events.watcherState();
      await events.bounds();
      await events.before(500);
      await events.undecoded({ limit: 100 });
      await events.forget({ upTo: 100, undelivered: [{ subscriptionId: "wh_7", cursor: 1, events: 2 }] });
      await events.forgetUndecoded("1970-01-01T00:01:00Z");
      const failed = [sampleFailed(300, "retrying"), sampleFailed(301, "dead")];
      const replay = { id: "rp_7", cursor: 4, done: false };
      const more = { failed, delivered: [302], replay, attempts: [sampleAttempt(1)] };
      const settlement = { subscriptionId: "wh_7", cursor: 200, ...more };
      await deliveries.settle({ leases: [partition], settlements: [settlement] });
      await deliveries.consumers({ after: "wh_2", limit: 100 });
      await deliveries.consumer("wh_7");
      const query = { after: 5, upTo: 300, limit: 100, inFlight: [7, 200], nowMs: START_MS };
      await deliveries.next(sampleSubscription("wh_7"), query);
      await deliveries.next(sampleSubscription("wh_7", { ordered: true }), query);
      await deliveries.failed({ state: "retrying", subscriptionId: "wh_7", limit: 100 });
      await deliveries.failed({ state: "retrying", subscriptionId: "wh_7", beyond: 5, limit: 100 });
      await deliveries.failed({ subscriptionId: "wh_7", state: "rejected", limit: 100 });
      await deliveries.failed({ subscriptionId: "wh_7", state: "dead", limit: 100 });
      await deliveries.recordAttempt("wh_7", sampleAttempt(1));
      await deliveries.attempts("wh_7", { limit: 100 });
      await deliveries.pruneAttempts("wh_7", 5);
      await subscriptions.insert(sampleSubscription("wh_new"), 99);
      await subscriptions.get("wh_7");
      await subscriptions.list({ keyId: "k7", limit: 100 });
      await subscriptions.list({ after: "wh_3", limit: 100 });
      await subscriptions.setSecrets({
        secrets: [{ id: "wh_7", expectedSecret: "s", secret: "t", previousSecret: null }],
      });
      await subscriptions.delete("wh_8");
      await subscriptions.purgeDeleted();
      await keys.delete("k8");
      await submissions.record({ hash: "h0", validUntil: 1, submittedAtMs: 1 });
      await submissions.recordOutcome("h9", { status: "success", ledger: 5 });
      await submissions.get("h9");
      await submissions.withoutOutcome({ limit: 100 });
      await submissions.withoutOutcome({ source: "G1", limit: 100 });
      await submissions.prune(500);
      await references.record({ hash: "h0", keyId: "k", reference: "r", preparedAtMs: 1 });
      await references.copy("h7", "h8");
      await references.find(Array.from({ length: 100 }, (_, n) => `h${n * 7}`));
      await references.list({ after: { preparedAtMs: 5, hash: "h5", keyId: "k" }, preparedBeforeMs: 900, limit: 100 });
      await references.ofReference({ keyId: "k0", reference: "r4", order: "desc", limit: 100 });
      await references.keysOf({ reference: "r4", limit: 100 });
      await references.delete(Array.from({ length: 50 }, (_, n) => {
        return { hash: `h${n}`, keyId: "k0", reference: "r", preparedAtMs: 1 };
      }));
      const sent = { keyId: "k0", hash: "h0", kind: "k1", source: "G1", submittedAtMs: 1 };
      await submissions.record({ hash: "h0", validUntil: 1, submittedAtMs: 1 }, sent);
      await transactions.add({ ...sent, hash: "h8", status: "pending" });
      await transactions.find(Array.from({ length: 100 }, (_, n) => `h${n * 7}`));
      await transactions.all({ after: { submittedAtMs: 5, hash: "h5", keyId: "k" }, toMs: 900, limit: 100 });
      for (const [subject, value] of [["source", "G1"], ["kind", "k1"], ["reference", "r7"]] as const) {
        for (const filter of [{}, { [subject]: value, status: "failed" as const }, { [subject]: value, kind: "k2" }]) {
          const after = { submittedAtMs: 15_000, hash: "h" };
          await transactions.list({ keyId: "k1", filter, order: "desc", after, limit: 100 });
        }
      }
      await transactions.prune(500);
      await references.prune(500);
      await intents.get(of);
      const intent = { request: "r", state: 1 };
      for (const seen of [undefined, "7"]) {
        await intents.set({ name: of, seen, version: "v", intent, mostOfKey: 1e6, mostInAll: 1e6 });
      }
      await intents.prune(500);
      await sharedState.read("r7");
      await sharedState.change("r7", () => ({ value: 2, keepMs: 5, answer: undefined }));
      await sharedState.prune(500);
    });
    const wrong: string[] = [];
    for (const statement of asking) {
      const steps = await planOf(statement);
      const isPruning = /DELETE FROM \S+\.(intent|reference) /.test(statement.sql);
      if (steps.some((step) => GONE_THROUGH.test(step)) && !isPruning) {
        wrong.push(`${statement.sql}\n${steps.join("\n")}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
}

const programs = findPostgres();
if (programs === undefined) test("the plans of the PostgreSQL store need its programs", { skip: true });
else describe("the PostgreSQL store does not get slower as it fills", () => describePlans(programs));
