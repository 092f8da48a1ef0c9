// needs: runtime
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { copyStore } from "../../lib/store/copy/copy_store.ts";
import { backUpStore } from "../../lib/store/file/backup.ts";
import type { OpenOptions } from "../../lib/store/file/store_file.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { longOnly } from "../tier.ts";
import { answers, goOn } from "./asked_store.ts";
import { bentStore } from "./bent_store.ts";
import { fillStore } from "./filled_store.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { sampleKey, scanned, storeError } from "./samples.ts";
import { sampleAttempt, sampleSubscription, settle } from "./webhook_samples.ts";

const root = mkdtempSync(join(tmpdir(), "copy-"));
const programs = findPostgres();
let postgres: SharedDatabase | undefined;
let count = 0;
let opened: Store[] = [];

/** How a new store of each driver is named. */
const DRIVERS: Record<string, () => string> = {
  sqlite: () => `sqlite:${root}/${++count}.db`,
  ...(runtimeName === "deno" ? { "Deno KV": () => `deno-kv:${root}/${++count}.kv` } : {}),
  ...(programs === undefined ? {} : { PostgreSQL: () => postgres!.setting({ schema: `copy_${++count}` }) }),
};
const NAMES = Object.keys(DRIVERS);

before(async () => {
  if (programs !== undefined) postgres = await createDatabase(programs);
});
afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
});
after(async () => {
  rmSync(root, { recursive: true });
  await postgres?.remove();
});

async function open(setting: string, options: OpenOptions = {}): Promise<Store> {
  const store = await openStore(setting, options);
  opened.push(store);
  return store;
}

const openTarget = (setting: string) => open(setting, { isCopyTarget: true });

let template: string | undefined;

async function filled(driver: string): Promise<Store> {
  const setting = DRIVERS[driver]!();
  if (driver === "sqlite" && template !== undefined) copyFileSync(template, setting.slice("sqlite:".length));
  const store = await open(setting);
  if (driver === "sqlite" && template !== undefined) return store;
  await fillStore(store);
  if (driver !== "sqlite") return store;
  template = `${root}/template.db`;
  await backUpStore(setting, template);
  return store;
}

async function empty(driver: string): Promise<{ setting: string; target: Store }> {
  const setting = DRIVERS[driver]!();
  return { setting, target: await openTarget(setting) };
}

/** Fails like a process that is killed at so many writes. */
function mortal(target: Store, writes: number): Store {
  let left = writes;
  const dying = <Args extends unknown[], T>(write: (...args: Args) => Promise<T>) => (...args: Args): Promise<T> =>
    left-- > 0 ? write(...args) : Promise.reject(new Error("killed"));
  return bentStore(target, {
    network: { bind: dying(target.network.bind), adopt: dying(target.network.adopt) },
    keys: { insert: dying(target.keys.insert) },
    events: { append: dying(target.events.append) },
    deliveries: { settle: dying(target.deliveries.settle) },
    sharedState: { change: dying(target.sharedState.change) as Store["sharedState"]["change"] },
  });
}

/** The reads of a store, without the numbers and counts that a copy changes. */
async function lastingAnswers(store: Store): Promise<unknown> {
  const asked = await answers(store);
  const anew = ["ordinal", "term", "rejected", "dead"];
  return JSON.parse(JSON.stringify(asked, (name, value) => anew.includes(name) ? undefined : value));
}

for (const [n, from] of NAMES.entries()) {
  for (const [m, to] of NAMES.entries()) {
    // The way back covers the other direction.
    test(
      `a copy from ${from} to ${to} and back again is the same store`,
      { skip: m > n ? false : longOnly },
      async () => {
        const source = await filled(from);
        const { setting, target } = await empty(to);
        const there = await copyStore({ source, target });
        await target.close();
        const copy = await open(setting);
        assert.deepEqual(await lastingAnswers(copy), await lastingAnswers(source));
        const back = await empty(from);
        assert.deepEqual(await copyStore({ source: copy, target: back.target }), there);
        const { attempts, failedDeliveries, events, subscriptions, keys, store } = there;
        const counted = [attempts, failedDeliveries, events, subscriptions, keys, store];
        assert.deepEqual(counted.map(({ records }) => records), [1_001, 396, 345, 3, 9, 1]);
        assert.deepEqual(Object.entries(there).filter(([, { records }]) => records === 0), []);
        const [newest] = await copy.deliveries.attempts("wh_1", { limit: 1 });
        assert.equal(newest!.ordinal, 1_000, "numbered from 1");
        assert.deepEqual(await goOn(copy), await goOn(source));
      },
    );
  }

  test(`a killed copy into ${from} leaves a store that is reported as unfinished, and a new copy succeeds after its removal`, async () => {
    const source = await filled("sqlite");
    let kills = 0;
    for (let writes = 1;; writes += 4) {
      const { setting, target } = await empty(from);
      const ended = await copyStore({ source, target: mortal(target, writes) }).then(() => "whole", String);
      const half = await openTarget(setting);
      if (ended === "whole") {
        await assert.rejects(copyStore({ source, target: half }), storeError("exists", "whole copy"));
        break;
      }
      assert.match(ended, /killed/);
      kills += 1;
      const refused = storeError("unavailable", "not whole", source.location, "copy again");
      await assert.rejects(copyStore({ source, target: half }), refused);
      await assert.rejects(openStore(setting), refused);
    }
    assert.ok(kills > 5, `${kills} kills`);
  });

  test(`a copy never overwrites ${from}`, async () => {
    const source = await filled("sqlite");
    const full = DRIVERS[from]!();
    const holder = await open(full);
    await holder.keys.insert(sampleKey("theirs"));
    const refused = storeError("exists", "not empty", "keys");
    await assert.rejects(copyStore({ source, target: await openTarget(full) }), refused);
    await holder.keys.delete("theirs");
    await holder.network.bind("theirs");
    await assert.rejects(copyStore({ source, target: holder }), storeError("exists", "not empty", "store"));
    assert.deepEqual(await holder.keys.list({ limit: 9 }), []);
    assert.equal(await holder.sharedState.read("copy"), undefined);
  });
}

describe("a copy", () => {
  test("into its own source, or into a complete copy of it, is rejected", async () => {
    const source = await filled("sqlite");
    const path = source.location;
    await assert.rejects(copyStore({ source, target: await openTarget(path) }), storeError("exists", "into itself"));
    const { target } = await empty("sqlite");
    await copyStore({ source, target });
    await target.close();
    const whole = await openTarget(target.location);
    await assert.rejects(copyStore({ source, target: whole }), storeError("exists", "whole copy"));
  });

  test("with a missing or different record is rejected at its opening", async () => {
    const source = await filled("sqlite");
    const bends: [(target: Store) => Store, string][] = [
      [(target) =>
        bentStore(target, {
          network: {
            async bind(passphrase) {
              await scanned(source, 1_002);
              await source.keys.insert(sampleKey("late"));
              await target.network.bind(passphrase);
            },
          },
        }), "keys (10 and 9 records), store (1 and 1 records)"],
      [(target) =>
        bentStore(target, {
          submissions: { record: (submission) => target.submissions.record({ ...submission, validUntil: 77 }) },
        }), "submissions"],
    ];
    for (const [bent, named] of bends) {
      const { setting, target } = await empty("sqlite");
      const refused = storeError("unavailable", "differ in", named, "copy again");
      await assert.rejects(copyStore({ source, target: bent(target) }), refused);
      await target.close();
      await assert.rejects(openStore(setting), StoreError);
    }
  });

  test("has U+FFFD instead of characters that only Deno KV accepts", { skip: runtimeName !== "deno" }, async () => {
    const source = await open(DRIVERS["Deno KV"]!());
    await source.subscriptions.insert(sampleSubscription("wh_1"), 9);
    const failed = sampleAttempt(1, { outcome: "dead", statusCode: 500, error: "a\0b", responseBody: "\ud83d" });
    await settle(source, { subscriptionId: "wh_1", attempts: [failed] });
    const { setting, target } = await empty("sqlite");
    await copyStore({ source, target });
    await target.close();
    const [copied] = await (await open(setting)).deliveries.attempts("wh_1", { limit: 1 });
    assert.deepEqual([copied!.error, copied!.responseBody], ["a\ufffdb", "\ufffd"]);
  });
});
