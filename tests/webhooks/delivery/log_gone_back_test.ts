// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { partitionLease, PARTITIONS } from "../../../lib/store/webhook.ts";
import { append, eventAt, insert, memoryStore, owedTo, START_MS, subscriptionOf } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

/** A database that fails and whose standby is promoted: after `end` all calls go to the standby. */
function failover(standby: Store) {
  let state: "primary" | "none" | "standby" = "primary";
  const store = (primary: Store): Store => {
    const noun = (name: "events" | "deliveries" | "leases" | "subscriptions") => ({
      value: new Proxy(primary[name], {
        get: (_, method) =>
          state === "none"
            ? () => Promise.reject(new Error("no database"))
            : Reflect.get((state === "primary" ? primary : standby)[name], method),
      }),
    });
    return Object.create(primary, {
      events: noun("events"),
      deliveries: noun("deliveries"),
      leases: noun("leases"),
      subscriptions: noun("subscriptions"),
    });
  };
  return { store, begin: () => state = "none", end: () => state = "standby" };
}

/** Replicates the webhook, the first event and, if wanted, the leases to the standby. */
async function replicated(standby: Store, { withLeases }: { withLeases: boolean }): Promise<void> {
  await insert(standby, subscriptionOf("wh_1", { keyId: "key_of_wh_1" }));
  await append(standby, [eventAt(101)], 101);
  for (let partition = 0; withLeases && partition < PARTITIONS; partition++) {
    await standby.leases.acquire({ name: partitionLease(partition), holder: "worker", durationMs: 60_000 });
  }
}

const LOST: [what: string, withLeases: boolean, withEvents: boolean][] = [
  [
    "the worker posts an event again when its retry is lost with a database's last commits; leases stay",
    true,
    false,
  ],
  [
    "the worker posts an event again when its retry is lost with a database's last commits; leases are lost too",
    false,
    false,
  ],
  ["the worker posts an event again when only its retry is lost with a database's last commits", true, true],
];
for (const [what, withLeases, withEvents] of LOST) {
  test(what, async () => {
    const standby = await memoryStore();
    const database = failover(standby);
    const lost = eventAt(103).id;
    let fails = true;
    const made = await workerStage(({ eventId }) => fails && eventId === lost ? "retry" : "delivered", {
      store: database.store,
    });
    await made.owe(1, "wh_1");
    await made.pass(1_100);
    await replicated(standby, { withLeases });
    await made.owe(2, "wh_1");
    const rest = () => append(standby, [eventAt(102), eventAt(103)], 103);
    if (withEvents) await rest();
    await made.pass(100);
    assert.equal((await owedTo(made.store, "wh_1")).retrying, 1);

    fails = false;
    database.end();
    await made.pass(3_000);
    if (!withEvents) await rest();
    await made.pass(10_000);
    await append(standby, [eventAt(104)], 104);
    await made.pass(10_000);
    const posted = made.idsTo("wh_1");
    assert.equal(posted.filter((id) => id === lost).length, 2);
    assert.equal(posted.at(-1), eventAt(104).id);
    await made.worker.stop({ drainMs: 0 });
    assert.equal((await standby.deliveries.consumer("wh_1"))!.progress.cursor, 4);
  });
}

test("a replay whose end was lost with a database's last commits ends again", async () => {
  const standby = await memoryStore();
  const database = failover(standby);
  await using made = await workerStage(() => "delivered", { store: database.store });
  await made.owe(1, "wh_1");
  await made.pass(1_100);
  await replicated(standby, { withLeases: true });
  const replay = {
    ...{ id: "rp_1", subscriptionId: "wh_1", fromHeight: 101, toHeight: 101, cursor: 0, endSequence: 1 },
    ...{ deliveries: 1, atLeast: false, createdAtMs: START_MS },
  };
  for (const store of [made.store, standby]) await store.deliveries.insertReplay(replay);
  await made.worker.changed("wh_1");
  await made.owe(1, "wh_1");
  await made.pass(3_000);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay, null);

  database.end();
  await made.pass(10_000);
  assert.equal((await standby.deliveries.consumer("wh_1"))!.replay, null);
});

test("a worker delivers the new events of a log that lost its end: no cursor lies beyond that log", async () => {
  const standby = await memoryStore();
  const database = failover(standby);
  await using made = await workerStage(() => "delivered", { store: database.store, gatherMs: 500 });
  await made.owe(1, "wh_1");
  await made.pass(1_100);
  await replicated(standby, { withLeases: true });
  await made.owe(2, "wh_1");
  await made.pass(100);
  database.begin();
  await made.pass(1_100);
  database.end();
  await made.pass(5_000);
  const events = [eventAt(102), eventAt(102, 2), eventAt(103)];
  await append(standby, events, 103);
  await made.pass(10_000);
  const posted = made.idsTo("wh_1");
  assert.deepEqual(posted.slice(-3), events.map(({ id }) => id));
});

test("a replay of a log that lost its end sends the events that the log has now", async () => {
  const standby = await memoryStore();
  const database = failover(standby);
  await using made = await workerStage(() => "delivered", { store: database.store });
  const replay = {
    ...{ subscriptionId: "wh_1", fromHeight: 101, toHeight: 103, cursor: 0, endSequence: 3 },
    ...{ deliveries: 3, atLeast: false, createdAtMs: START_MS },
  };
  await made.owe(3, "wh_1");
  await made.pass(1_100);
  await made.store.deliveries.insertReplay({ id: "rp_1", ...replay });
  await made.worker.changed("wh_1");
  await made.pass(3_000);
  assert.equal(made.idsTo("wh_1").length, 6);

  await replicated(standby, { withLeases: true });
  database.end();
  await made.pass(3_000);
  const others = [eventAt(102, 2), eventAt(103, 2)];
  await append(standby, others, 103);
  await made.pass(3_000);
  await standby.deliveries.insertReplay({ id: "rp_2", ...replay });
  await made.worker.changed("wh_1");
  await made.pass(3_000);
  const expected = [eventAt(101), ...others].map(({ id }) => id);
  assert.deepEqual(made.idsTo("wh_1").slice(-3), expected);
});
