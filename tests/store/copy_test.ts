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
import { type CopyMark, TRANSFER_KINDS, type TransferStep } from "../../lib/store/transfer.ts";
import { longOnly } from "../tier.ts";
import { answers, goOn } from "./asked_store.ts";
import { bentStore } from "./bent_store.ts";
import { fillStore } from "./filled_store.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { sampleKey, scanned, storeError } from "./samples.ts";
import { sampleSubscription, settle } from "./webhook_samples.ts";

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

/** Fails like a process that is killed: when it has written so many pages, and of the next one as many records as that. */
function mortal(target: Store, pages: number, records = 0): Store {
  let written = 0;
  return bentStore(target, {
    transfer: {
      async write(step) {
        const isLast = ++written > pages;
        const some = isLast ? step.records.slice(0, records) : step.records;
        if (some.length > 0) await target.transfer.write({ ...step, records: some } as TransferStep);
        if (isLast) throw new Error("killed");
      },
    },
  });
}

for (const [n, from] of NAMES.entries()) {
  for (const [m, to] of NAMES.entries()) {
    // Back again is the other way round.
    test(
      `a copy from ${from} to ${to} and back again is the same store`,
      { skip: m > n ? false : longOnly },
      async () => {
        const source = await filled(from);
        const { setting, target } = await empty(to);
        const there = await copyStore({ source, target });
        assert.equal(there.isResumed, false);
        await target.close();
        const copy = await open(setting);
        assert.deepEqual(await answers(copy), await answers(source));
        const back = await empty(from);
        const again = await copyStore({ source: copy, target: back.target });
        assert.deepEqual(again.tallies, there.tallies);
        const { attempts, failedDeliveries, events, subscriptions, keys, store } = there.tallies;
        assert.deepEqual(
          [
            attempts.records,
            failedDeliveries.records,
            events.records,
            subscriptions.records,
            keys.records,
            store.records,
          ],
          [1_001, 396, 345, 3, 9, 1],
        );
        assert.deepEqual(TRANSFER_KINDS.filter((kind) => there.tallies[kind].records === 0), []);
        assert.deepEqual(await goOn(copy), await goOn(source));
      },
    );
  }

  test(`a copy into ${from} that is killed at any page goes on, and is served from only when it is whole`, async () => {
    const source = await filled("sqlite");
    const { setting, target } = await empty(from);
    const whole = await empty("sqlite");
    const { tallies } = await copyStore({ source, target: whole.target });
    await target.close();
    let kills = 0;
    for (let pages = 0;; pages = 1) {
      const half = await openTarget(setting);
      try {
        const result = await copyStore({ source, target: mortal(half, pages, 77 * (kills % 2)) });
        assert.deepEqual(result, { isResumed: true, tallies });
        await half.close();
        break;
      } catch (error) {
        assert.match(String(error), /killed/);
        kills += 1;
      }
      await half.close();
      await assert.rejects(openStore(setting), storeError("unavailable", "not whole", source.location));
    }
    assert.ok(kills > 10, `${kills} kills`);
    assert.deepEqual(await answers(await open(setting)), await answers(source));
  });

  test(`what ${from} holds is not overwritten`, async () => {
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
    assert.equal(await holder.registers.read("copy"), undefined);
  });

  test(`of two copies into ${from} the one that came later goes on, and the other writes nothing any more`, async () => {
    const source = await filled("sqlite");
    const { setting, target } = await empty(from);
    await assert.rejects(copyStore({ source, target: mortal(target, 3) }), /killed/);
    const { run } = (await target.registers.read<CopyMark>("copy"))!;
    const later = await openTarget(setting);
    await assert.rejects(copyStore({ source, target: mortal(later, 1) }), /killed/);
    const stale = target.transfer.write({ run, kind: "keys", records: [sampleKey("stale")] });
    await assert.rejects(stale, storeError("fenced", "taken over"));
    assert.equal(await target.keys.get("stale"), undefined);
  });
}

describe("a copy", () => {
  test("is refused into itself, into a whole copy of the same, and into half a copy of another", async () => {
    const source = await filled("sqlite");
    const path = source.location;
    await assert.rejects(copyStore({ source, target: await openTarget(path) }), storeError("exists", "into itself"));
    const { target } = await empty("sqlite");
    await copyStore({ source, target });
    await target.close();
    const whole = await openTarget(target.location);
    await assert.rejects(copyStore({ source, target: whole }), storeError("exists", "whole copy"));
    const other = await open(DRIVERS.sqlite!());
    await other.keys.insert(sampleKey("other"));
    const half = await empty("sqlite");
    await assert.rejects(copyStore({ source: other, target: mortal(half.target, 1) }), /killed/);
    const refused = storeError("exists", "half a copy", other.location);
    await assert.rejects(copyStore({ source, target: half.target }), refused);
  });

  test("is given up when the source was served from between two runs", async () => {
    const source = await filled("sqlite");
    const { setting, target } = await empty("sqlite");
    await assert.rejects(copyStore({ source, target: mortal(target, 5) }), /killed/);
    await scanned(source, 1_002);
    await assert.rejects(copyStore({ source, target }), storeError("unavailable", "has changed", "remove"));
    await target.close();
    await assert.rejects(openStore(setting), storeError("unavailable", "not whole"));
  });

  test("that misses what came meanwhile, or differs in one field, is not served from", async () => {
    const source = await filled("sqlite");
    const changes: [(step: { kind: string; records: object[] }) => Promise<unknown> | void, string][] = [
      [
        ({ kind }) => kind === "store" ? source.keys.insert(sampleKey("late")) : undefined,
        "keys (10 and 9 records)",
      ],
      [
        ({ kind, records }) => void (kind === "submissions" && Object.assign(records[0]!, { validUntil: 77 })),
        "submissions",
      ],
    ];
    for (const [change, named] of changes) {
      const { setting, target } = await empty("sqlite");
      const bent = bentStore(target, {
        transfer: {
          async write(step) {
            await change(step as unknown as { kind: string; records: object[] });
            await target.transfer.write(step);
          },
        },
      });
      await assert.rejects(copyStore({ source, target: bent }), storeError("unavailable", "differ in", named));
      await target.close();
      await assert.rejects(openStore(setting), StoreError);
    }
  });

  test("of texts that only Deno KV takes has U+FFFD in their place", { skip: runtimeName !== "deno" }, async () => {
    const source = await open(DRIVERS["Deno KV"]!());
    await source.subscriptions.insert(sampleSubscription("wh_1"), 9);
    const attempt = {
      eventId: "e",
      eventType: "t",
      replayId: null,
      number: 1,
      atMs: 1,
      durationMs: 1,
      nextAttemptAtMs: null,
    };
    const failed = { ...attempt, outcome: "dead" as const, statusCode: 500, error: "a\0b", responseBody: "\ud83d" };
    await settle(source, { subscriptionId: "wh_1", attempts: [failed] });
    const { setting, target } = await empty("sqlite");
    await copyStore({ source, target });
    await target.close();
    const [copied] = await (await open(setting)).deliveries.attempts("wh_1", { limit: 1 });
    assert.deepEqual([copied!.error, copied!.responseBody], ["a\ufffdb", "\ufffd"]);
  });
});
