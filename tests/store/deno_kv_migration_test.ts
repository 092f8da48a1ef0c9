// needs: long, runtime
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Kv, openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { migrate } from "../../lib/store/deno_kv/migration.ts";
import { formatEventId } from "../../lib/store/event.ts";
import { holdStoreFile } from "../../lib/store/file/store_file.ts";
import { openStore } from "../../lib/store/open.ts";
import { ATTEMPTS_KEPT } from "../../lib/store/webhook.ts";
import { type Content, migrationContract } from "./contract_migration.ts";
import { makeFormerKvFile } from "./former_store.ts";
import { storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";

/** What the files of each schema hold: written by the programs of then. */
const CONTENT: Record<number, Content> = { 1: 1, 2: 3 };

function describeMigration(): void {
  const directory = mkdtempSync(join(tmpdir(), "deno-kv-migration-"));

  /** A file as a program of this schema left it, in a folder of its own. */
  function formerFile(schema: number): string {
    const path = join(mkdtempSync(join(directory, "store-")), "gateway.kv");
    makeFormerKvFile(path, schema);
    return path;
  }

  describe("a store of a program before the log, on Deno KV", () => {
    after(() => rmSync(directory, { recursive: true }));

    migrationContract({
      schemas: Object.entries(CONTENT).map(([schema, content]) => ({ schema: Number(schema), content })),
      migrated: (schema) => openStore(`deno-kv:${formerFile(schema)}`),
    });

    test("it is kept as it was beside the new one, which is not for programs of then", async () => {
      const path = formerFile(2);
      const notices: string[] = [];
      const stores = await Promise.all(
        [1, 2, 3].map(() => openStore(`deno-kv:${path}`, { onNotice: (notice) => notices.push(notice) })),
      );
      assert.deepEqual(new Set(stores.map(({ id }) => id)).size, 1);
      for (const store of stores) await store.close();
      const [copy, ...more] = copiesBeside(path);
      assert.deepEqual(more, []);
      assert.match(notices.join("\n"), /^deno-kv:.* goes from schema 2 to 3; .*gateway\.kv\.v2-\d{8}T\d{6}Z\.bak$/);
      assert.deepEqual([await schemaOf(join(dirname(path), copy!)), await schemaOf(path)], [2, 3]);
    });

    test("one without anything in it is not copied", async () => {
      const path = join(mkdtempSync(join(directory, "store-")), "gateway.kv");
      await (await openStore(`deno-kv:${path}`)).close();
      const kv = await openKv(path);
      await kv.atomic().set(["schema"], 1).delete(["store_id"]).commit();
      kv.close();
      const onNotice = (notice: string) => assert.fail(notice);
      const store = await openStore(`deno-kv:${path}`, { onNotice });
      assert.match(store.id, /^\w{12}$/);
      await store.close();
      assert.deepEqual([await schemaOf(path), copiesBeside(path)], [3, []]);
    });

    test("nothing of then is left in it", async () => {
      const path = formerFile(2);
      const store = await openStore(`deno-kv:${path}`);
      await store.subscriptions.purgeDeleted();
      await store.close();
      const prefixes = new Set((await dump(path)).map(([key]) => (key as unknown[])[0]));
      const today = [
        ...["attempt", "bucket", "by", "by_type", "due", "event", "failed", "failed_of", "forgotten", "id", "key"],
        ...[
          "key_used",
          "keys_version",
          "late",
          "log",
          "log_type",
          "log_watcher",
          "network",
          "progress",
          "reached",
          "schema",
          "secrets_check",
        ],
        ...["submission", "submission_by_time", "subscription", "subscription_by_key"],
        ...["subscription_count", "subscriptions_version", "undecoded", "undecoded_raw"],
      ];
      assert.deepEqual([...prefixes].sort(), today);
    });

    test("wherever a program is killed on the way, the next one comes to the same", async () => {
      const whole = formerFile(2);
      await (await openStore(`deno-kv:${whole}`)).close();
      const expected = await dump(whole);
      for (let commits = 0;; commits++) {
        const path = formerFile(2);
        const kv = await openKv(path);
        const wasKilled = await migrate({ kv: mortal(kv, commits), file: undefined, location: "there" }).then(
          () => false,
          (error) => {
            assert.equal(error.message, "killed");
            return true;
          },
        );
        kv.close();
        await (await openStore(`deno-kv:${path}`)).close();
        assert.deepEqual(await dump(path), expected, `killed after ${commits} commits`);
        if (wasKilled) continue;
        assert.ok(commits > 9);
        break;
      }
    });

    test("after kill -9 in the middle all of a long history is there, in its order, each event once", async () => {
      const path = formerFile(2);
      const ids = await addEvents(path, 4_000);
      const process = startStoreProcess(`deno-kv:${path}`, "open");
      const kv = await openKv(path);
      while (((await kv.get<{ last: number }>(["log"])).value?.last ?? 0) < 1_000) await setImmediate();
      await process.kill();
      const { value } = await kv.get<{ last: number }>(["log"]);
      assert.ok(value!.last < 4_000, "it was killed too late");
      assert.equal((await kv.get(["schema"])).value, 3, "no program of then goes on with it");
      kv.close();

      const store = await openStore(`deno-kv:${path}`);
      const found = [];
      for (let after = 0;;) {
        const page = await store.events.read({ filter: { types: ["t"] }, after, order: "asc", limit: 1_000 });
        found.push(...page);
        if (page.length < 1_000) break;
        after = page.at(-1)!.sequence;
      }
      assert.deepEqual(found.map(({ id }) => id), ids);
      const { last, forgotten } = await store.events.bounds();
      assert.equal(await store.events.count({ filter: {}, limit: 10_000 }), last - forgotten);
      assert.equal(last - forgotten, ids.length + 15);
      await store.close();
      assert.equal(copiesBeside(path).length, 1);
    });

    test("of many attempts the newest are kept", async () => {
      const path = formerFile(2);
      const kv = await openKv(path);
      for (let n = 1; n <= 1_200; n++) {
        const id = `at_${String(n).padStart(6, "0")}`;
        const attempt = {
          id,
          subscriptionId: "wh_b",
          deliveryId: null,
          eventId: "e",
          eventType: "t",
          number: 1,
          atMs: n,
        };
        const outcome = { durationMs: 1, outcome: "delivered", statusCode: 200, error: null, responseBody: "ok" };
        await kv.atomic().set(["attempt", "wh_b", id], { ...attempt, ...outcome, nextAttemptAtMs: null })
          .set(["attempt_by_time", n, "wh_b", id], true).commit();
      }
      kv.close();
      const store = await openStore(`deno-kv:${path}`);
      const [newest] = await store.deliveries.attempts("wh_b", { limit: 1 });
      assert.deepEqual([newest!.ordinal, newest!.atMs], [ATTEMPTS_KEPT, 1_200]);
      const oldest = await store.deliveries.attempts("wh_b", { before: 3, limit: 9 });
      assert.deepEqual(oldest.map(({ ordinal, atMs }) => [ordinal, atMs]), [[2, 202], [1, 201]]);
      await store.close();
    });

    test("while a gateway serves from it, it is left as it is", async () => {
      const path = formerFile(2);
      const lock = await holdStoreFile(path, "there");
      const kv = await openKv(path);
      const before = await dump(path);
      const wait = () => Promise.resolve();
      const refused = migrate({ kv, file: path, location: "there", wait });
      await assert.rejects(refused, storeError("locked", "there", "has schema 2, and is served"));
      kv.close();
      lock.release();
      assert.deepEqual(await dump(path), before);
      assert.deepEqual(copiesBeside(path), []);
    });
  });

  /** Adds events of then, in ledgers after all others; answers their ids. */
  async function addEvents(path: string, count: number): Promise<string[]> {
    const kv = await openKv(path);
    const ids: string[] = [];
    for (let n = 0; n < count;) {
      const atomic = kv.atomic();
      for (const end = n + 200; n < end; n++) {
        const id = formatEventId({ epoch: 1, ledger: 1_000 + n, order: 4_097, index: 1 });
        const position = `0001/${id.slice(2)}`;
        const event = {
          position,
          id,
          type: "t",
          contractId: "C",
          ledger: 1_000 + n,
          ledgerClosedAt: "2026-04-01T00:00:00Z",
        };
        atomic.set(["event", position], { ...event, txHash: "ab" }).set(["event_by_type", "t", position], true);
        ids.push(id);
      }
      await atomic.commit();
    }
    kv.close();
    return ids;
  }
}

const copiesBeside = (path: string) => readdirSync(dirname(path)).filter((name) => name.endsWith(".bak"));

/** All entries but the id, which differs. */
async function dump(path: string): Promise<[unknown, unknown][]> {
  const kv = await openKv(path);
  const entries: [unknown, unknown][] = [];
  for await (const { key, value } of kv.list({ prefix: [] })) if (key[0] !== "store_id") entries.push([key, value]);
  kv.close();
  return entries;
}

async function schemaOf(path: string): Promise<unknown> {
  return (await dump(path)).find(([key]) => (key as unknown[])[0] === "schema")?.[1];
}

/** A database whose user is killed at the commit after these. */
function mortal(kv: Kv, commits: number): Kv {
  let left = commits;
  return new Proxy(kv, {
    get(target, name) {
      const member = target[name as keyof Kv] as unknown;
      if (name !== "atomic") return typeof member === "function" ? member.bind(target) : member;
      return () => {
        const atomic = target.atomic();
        const commit = atomic.commit.bind(atomic);
        atomic.commit = () => left-- > 0 ? commit() : Promise.reject(new Error("killed"));
        return atomic;
      };
    },
  });
}

if (runtimeName === "deno") describeMigration();
