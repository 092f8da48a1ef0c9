// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { findPgbouncer, findPostgres } from "./postgres_programs.ts";
import { createDatabase } from "./postgres_shared.ts";
import { startPooler } from "./postgres_pooler.ts";
import { append, sampleEvent } from "./samples.ts";
import { sampleAttempt, subscribe, workerLeases } from "./webhook_samples.ts";

const [programs, pgbouncer] = [findPostgres(), findPgbouncer()];
const skip = programs === undefined || pgbouncer === undefined;
const ids = Array.from({ length: 12 }, (_, n) => `wh_${n}`);

test(
  "the store works through a transaction pooler with prepare=false, because it needs no session state",
  { skip },
  async () => {
    const postgres = await createDatabase(programs!);
    const pooler = await startPooler(pgbouncer!, postgres.port, 3);
    const setting = `postgres://postgres@127.0.0.1:${pooler.port}/${postgres.name}?prepare=false`;
    const opened: Store[] = [];
    const open = async () => {
      const store = await openStore(setting);
      opened.push(store);
      return store;
    };
    try {
      const store = await open();
      const other = await open();
      await subscribe(store, ...ids);
      await append(store, ...Array.from({ length: 50 }, (_, n) => sampleEvent(n)));
      const leases = await workerLeases(store, ...ids);
      const settled = Array.from({ length: 120 }, (_, n) =>
        (n % 2 ? store : other).deliveries.settle({
          leases,
          settlements: [{ subscriptionId: `wh_${n % 12}`, cursor: 1 + n % 50, attempts: [sampleAttempt(n)] }],
        }));
      const read = Array.from({ length: 120 }, () => other.events.read({ filter: {}, order: "asc", limit: 50 }));
      await Promise.all(settled);
      for (const events of await Promise.all(read)) assert.equal(events.length, 50);
      for (const id of ids) {
        const attempts = await store.deliveries.attempts(id, { limit: 99 });
        assert.deepEqual(attempts.map(({ ordinal }) => ordinal), Array.from({ length: 10 }, (_, at) => 10 - at));
      }
      const add = (n: number) =>
        store.sharedState.change<number, void>(
          "sum",
          (sum = 0) => ({ value: sum + n, keepMs: 60_000, answer: undefined }),
        );
      await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)));
      assert.equal(await other.sharedState.read("sum"), 190);
    } finally {
      for (const store of opened) await store.close();
      await pooler.stop();
      await postgres.remove();
    }
  },
);
