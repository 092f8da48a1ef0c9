// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { copyStore } from "../../lib/store/copy/copy_store.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { forTier } from "../tier.ts";
import { acquireAll, type Call, changes } from "./drawn_changes.ts";
import { ask, questions } from "./drawn_questions.ts";
import { IDS } from "./drawn_values.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { sampleSubscription, START_MS } from "./webhook_samples.ts";

const RUNS = forTier({ test: 1, all: 2 });
const STEPS = 100;
/** Steps from one copy to the next. */
const COPIED_EVERY = 33;

const versions = async ({ keys, subscriptions }: Store) => [await keys.version(), await subscriptions.version()];

function describeAlike(hasDenoKv: boolean, programs: string | undefined): void {
  const root = mkdtempSync(join(tmpdir(), "alike-"));
  let postgres: SharedDatabase | undefined;
  let schemas = 0;
  before(async () => {
    if (programs === undefined) return;
    postgres = await createDatabase(programs);
    await postgres.useTestClock();
    postgres.setClock(START_MS);
  });
  after(() => postgres?.remove());

  describe("stores of different drivers", () => {
    after(() => rmSync(root, { recursive: true }));

    test("return the same after any calls, and so do copies between them", async () => {
      const runs = fc.asyncProperty(fc.gen(), async (generate) => {
        const directory = mkdtempSync(join(root, "run-"));
        let nowMs = START_MS;
        let copies = 0;
        postgres?.setClock(nowMs);
        const settings = () => [
          `sqlite:${directory}/${copies}.db`,
          ...(hasDenoKv ? [`deno-kv:${directory}/${copies}.kv`] : []),
          ...(postgres === undefined ? [] : [postgres.setting({ schema: `alike_${++schemas}` })]),
        ];
        const open = (isCopyTarget = false) =>
          Promise.all(settings().map((setting) => openStore(setting, { now: () => nowMs, isCopyTarget })));
        let stores = await open();
        const done: Call[] = [];
        const alike = async (call: Call) => {
          const [first, ...others] = await Promise.all(stores.map((store) => ask(store, call)));
          for (const [n, other] of others.entries()) {
            const about = `${call[0]}.${call[1]} ${JSON.stringify(call.slice(2))}`;
            const message = `${stores[n + 1]!.location}: ${about} after ${JSON.stringify(done.slice(-5))}`;
            assert.deepEqual(other, first, message);
          }
        };
        /** Each in a store of another driver, which takes its place. */
        const copy = async () => {
          copies += 1;
          const targets = await open(true);
          for (const [n, target] of targets.entries()) {
            const source = stores[(n + 1) % stores.length]!;
            await copyStore({ source, target });
          }
          for (const store of stores) await store.close();
          stores = targets;
        };
        try {
          let [leases] = await Promise.all(stores.map(acquireAll));
          for (const one of IDS) await alike(["subscriptions", "insert", sampleSubscription(one, { keyId: "k1" }), 9]);
          for (let step = 0; step < STEPS; step++) {
            nowMs += generate(() => fc.constantFrom(0, 0, 0, 1, 30_000, 60_000, -1_000, -300_000, -700_000));
            postgres?.setClock(nowMs);
            if (step % COPIED_EVERY === COPIED_EVERY - 1) {
              await copy();
              [leases] = await Promise.all(stores.map(acquireAll));
            }
            const calls = await changes(stores[0]!, leases!);
            const before = await Promise.all(stores.map(versions));
            done.push(generate(() => calls));
            await alike(done.at(-1)!);
            const after = await Promise.all(stores.map(versions));
            const risen = after.map((now, n) => now.map((version, noun) => version > before[n]![noun]!));
            for (const other of risen) {
              assert.deepEqual(other, risen[0], `versions after ${JSON.stringify(done.at(-1))}`);
            }
            for (const call of generate(() => questions)) await alike(call);
          }
        } finally {
          for (const store of stores) await store.close();
        }
      });
      // The report would otherwise include all generated values.
      const { failed, errorInstance, seed, numRuns } = await fc.check(runs, { numRuns: RUNS, endOnFailure: true });
      if (failed) throw new Error(`run ${numRuns} of seed ${seed}`, { cause: errorInstance });
    });
  });
}

const programs = findPostgres();
const hasDenoKv = runtimeName === "deno";
if (hasDenoKv || programs !== undefined) describeAlike(hasDenoKv, programs);
