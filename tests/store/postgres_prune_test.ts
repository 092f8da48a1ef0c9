import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../lib/store/open.ts";
import { openDatabase } from "../../lib/store/postgres/database.ts";
import { tablePrefix } from "../../lib/store/postgres/schema.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";

const DAY_MS = 86_400_000;
const NAMES = Array.from({ length: 20 }, (_, n) => String(n).padStart(2, "0"));

describe("what is forgotten while it is used again, in PostgreSQL", () => {
  let cluster: Cluster;
  let schemas = 0;
  before(async () => {
    cluster = await startCluster(findPostgres()!);
    await cluster.useTestClock();
  });
  after(() => cluster.remove());

  /** Begins `prune`, which waits for a row that another session holds; does `work` meanwhile, and has it go on. */
  async function whilePruning(
    setting: string,
    lock: string,
    prune: () => Promise<number>,
    work: () => Promise<void>[],
  ): Promise<void> {
    const parsed = parsePostgresSetting(setting);
    const database = openDatabase(parsed);
    let all: Promise<unknown[]> | undefined;
    await database.transaction(async (queries) => {
      await queries.read(lock.replace("PREFIX.", tablePrefix(parsed)));
      const pruning = prune();
      await passed(300);
      all = Promise.all([pruning, ...work()]);
      await passed(500);
    });
    await all;
    await database.close();
  }

  async function newStore(): Promise<{ store: Store; setting: string }> {
    const setting = cluster.setting({ schema: `prune_${++schemas}` });
    cluster.setClock(1_793_491_200_000);
    return { store: await openStore(setting), setting };
  }

  test("a nonce that was handed out is not handed out again", async () => {
    const { store, setting } = await newStore();
    const next = (agent: string) => store.intents.nextNonce({ deviceHash: "d", agent, used: "5", validForMs: 60_000 });
    await next("first");
    cluster.setClock(1_793_491_200_001);
    for (const agent of NAMES) await next(agent);
    cluster.setClock(1_793_491_300_000);
    const given = new Map<string, string>();
    await whilePruning(
      setting,
      "SELECT 1 FROM PREFIX.nonce_out WHERE agent = 'first' FOR UPDATE",
      () => store.intents.prune(0),
      () => NAMES.map(async (agent) => void given.set(agent, await next(agent))),
    );
    const again = new Map<string, string>();
    for (const agent of NAMES) again.set(agent, await next(agent));
    await store.close();
    for (const agent of NAMES) assert.deepEqual([given.get(agent), again.get(agent)], ["6", "7"], agent);
  });

  test("an intent that was claimed again is there until it is completed", async () => {
    const { store, setting } = await newStore();
    const nameOf = (key: string) => ({ keyId: "k", kind: "submit" as const, key });
    const claim = async (key: string) => {
      const seen = await store.intents.get(nameOf(key));
      const step = { name: nameOf(key), seen, id: `id-${key}`, request: "r", durationMs: 60_000 };
      const claimed = await store.intents.claim({ ...step, mostOfKey: 100, mostInAll: 100 });
      if (typeof claimed === "string") throw new Error(claimed);
      return claimed;
    };
    for (const key of ["first", ...NAMES]) {
      await store.intents.complete(await claim(key), { request: "r", result: "{}" });
    }
    const nowMs = 1_793_491_200_000 + 8 * DAY_MS;
    cluster.setClock(nowMs);
    await whilePruning(
      setting,
      "SELECT 1 FROM PREFIX.intent WHERE key = 'first' FOR UPDATE",
      () => store.intents.prune(nowMs - 7 * DAY_MS),
      () => NAMES.map(async (key) => store.intents.complete(await claim(key), { request: "r", result: "new" })),
    );
    const results = await Promise.all(NAMES.map(async (key) => (await store.intents.get(nameOf(key)))?.result));
    await store.close();
    assert.deepEqual(results, NAMES.map(() => "new"));
  });

  test("a register that was changed again keeps its value", async () => {
    const { store, setting } = await newStore();
    const count = (name: string) =>
      store.registers.change<number, void>(
        name,
        (value = 0) => ({ value: value + 1, keepMs: 60_000, answer: undefined }),
      );
    await count("first");
    cluster.setClock(1_793_491_200_001);
    for (const name of NAMES) await count(name);
    cluster.setClock(1_793_491_300_000);
    await whilePruning(
      setting,
      "SELECT 1 FROM PREFIX.register WHERE name = 'first' FOR UPDATE",
      () => store.registers.prune(),
      () => NAMES.map(count),
    );
    const values = await Promise.all(NAMES.map((name) => store.registers.read(name)));
    await store.close();
    assert.deepEqual(values, NAMES.map(() => 1));
  });
});
