// needs: once
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Store, WATCHER_LEASE } from "../../lib/store/store.ts";
import { createDeliveryWorker } from "../../lib/webhooks/delivery/worker.ts";
import { until } from "../until.ts";
import { scriptedAttempts } from "../webhooks/parts.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { append, sampleEvent, sampleKey, sampleState, storeError } from "./samples.ts";
import { sampleSubscription } from "./webhook_samples.ts";

const programs = findPostgres();

describe("a standby that was promoted without the last commits", { skip: programs === undefined }, () => {
  let postgres: SharedDatabase;
  before(async () => {
    postgres = await createDatabase(programs!);
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  after(() => postgres.remove());

  const opened: Store[] = [];
  async function open(schema: string): Promise<Store> {
    const store = await openStore(postgres.setting({ schema }));
    opened.push(store);
    return store;
  }

  /** Deletes all commits after the first event, with these texts of the dictionaries. */
  const loseEvents = (schema: string, types: string[] = [], contracts: string[] = []) =>
    postgres.sql(`
      DELETE FROM ${schema}.event WHERE sequence > 1;
      DELETE FROM ${schema}.event_type WHERE text = ANY ('{${types}}');
      DELETE FROM ${schema}.contract WHERE text = ANY ('{${contracts}}');
      DELETE FROM ${schema}.height_start WHERE sequence > 1;
      UPDATE ${schema}.log_end SET last = 1, height = (SELECT max(height) FROM ${schema}.height_start)`);

  test("keeps the types, contracts and assets of events that gateways read after the loss", async () => {
    const goesOn = await open("promoted");
    await append(goesOn, sampleEvent(1, { asset: "asset 1" }));
    const event = sampleEvent(2, { type: "payment.claimed", contractId: "another contract", asset: "asset 2" });
    const [stored] = await append(goesOn, event);
    assert.deepEqual(await goesOn.events.get(event.id), stored);
    await loseEvents("promoted", ["payment.claimed"], ["another contract", "asset 2"]);
    await append(goesOn, event);
    const other = await open("promoted");
    const next = sampleEvent(3, { type: "escrow.swept", contractId: "a third contract", asset: "asset 3" });
    await append(other, next);
    assert.deepEqual(await other.events.get(event.id), stored);
    assert.deepEqual(await goesOn.events.get(next.id), await other.events.get(next.id));
  });

  test("shows a replacement event as it is, although it has the sequence of a lost one", async () => {
    const goesOn = await open("replaced");
    await append(goesOn, sampleEvent(1, { asset: "asset 1" }));
    const lost = sampleEvent(2, { type: "payment.claimed", contractId: "another contract", asset: "asset 2" });
    const [stored] = await append(goesOn, lost);
    assert.deepEqual(await goesOn.events.get(lost.id), stored);
    assert.equal(await goesOn.events.count({ filter: { types: [lost.type] }, limit: 9 }), 1);
    await loseEvents("replaced", ["payment.claimed"], ["another contract", "asset 2"]);
    const other = await open("replaced");
    const next = sampleEvent(3, { type: "escrow.swept", contractId: "a third contract", asset: "asset 3" });
    const [first] = await append(other, next);
    assert.deepEqual(await goesOn.events.get(next.id), first);
    const [second] = await append(other, lost);
    assert.deepEqual(await goesOn.events.get(lost.id), second);
    const found = await goesOn.events.read({ filter: { types: [lost.type] }, order: "asc", limit: 9 });
    assert.deepEqual(found, [second]);
  });

  test("gives a lease whose last acquisition was lost to only one gateway", async () => {
    const [former, next] = [await open("twice"), await open("twice")];
    const request = { name: WATCHER_LEASE, durationMs: 60_000 };
    await former.leases.release([(await former.leases.acquire({ ...request, holder: "before" }))!]);
    const before = await postgres.sql("SELECT term FROM twice.lease");
    const lost = (await former.leases.acquire({ ...request, holder: "former" }))!;
    await postgres.sql(`UPDATE twice.lease SET term = ${before}, holder = NULL`);
    const lease = (await next.leases.acquire({ ...request, holder: "next" }))!;
    assert.deepEqual(await former.leases.renew([lost], 60_000), []);
    const step = { lease: lost, events: [], state: sampleState(1) };
    await assert.rejects(former.events.append(step), storeError("fenced"));
    assert.deepEqual(await next.leases.renew([lease], 60_000), [lease]);
  });

  test("finds the events after a height also when the log reaches the height at a lower sequence than before the loss", async () => {
    const goesOn = await open("sooner");
    await append(goesOn, sampleEvent(1));
    const [late, next] = [sampleEvent(2), sampleEvent(3)];
    await append(goesOn, late, next);
    const found = async (store: Store) =>
      (await store.events.read({ filter: { fromHeight: next.ledger }, order: "asc", limit: 9 })).map(({ id }) => id);
    assert.deepEqual(await found(goesOn), [next.id]);
    await loseEvents("sooner");
    await postgres.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    );
    const other = await open("sooner");
    await append(other, next);
    await append(other, late);
    assert.deepEqual(await found(other), [next.id]);
    assert.deepEqual(await found(goesOn), [next.id]);
  });

  test("resends a failed delivery whose retry was lost, also when a later event comes first", async () => {
    const store = await open("retries");
    await store.subscriptions.insert(sampleSubscription("wh_1"), 9);
    let fails = true;
    const { attempt, posted } = scriptedAttempts(
      systemClock,
      ({ eventId }) => fails && eventId === sampleEvent(2).id ? "retry" : "delivered",
      600_000,
    );
    const worker = createDeliveryWorker({
      store,
      attempt,
      isKeyEnabled: () => Promise.resolve(true),
      recipient: ({ id, url }) => ({ id, url, secrets: [] }),
      message: ({ id, type }) => ({ id, type, json: "{}" }),
      clock: systemClock,
      holder: "worker",
      onAttempt: () => {},
      onProblem: () => {},
    });
    const progress = async () => (await store.deliveries.consumer("wh_1"))!.progress;
    worker.start();
    await append(store, sampleEvent(1));
    await until(async () => (await progress()).cursor === 1);
    const before = await postgres.sql("SELECT version FROM retries.progress");
    await append(store, sampleEvent(2));
    await until(async () => (await progress()).retrying === 1);
    await postgres.sql(`
      DELETE FROM retries.failed_delivery;
      DELETE FROM retries.attempt WHERE ordinal > 1;
      UPDATE retries.progress SET version = ${before}, cursor = 1, retrying = 0, attempts = 1, failing_since_ms = NULL`);
    fails = false;
    await append(store, sampleEvent(3));
    await until(async () => (await progress()).cursor === 3);
    const sent = posted.map(({ eventId }) => eventId);
    assert.equal(sent.filter((id) => id === sampleEvent(2).id).length, 2, `sent were ${sent}`);
    await worker.stop({ drainMs: 0 });
  });

  test("gives keys and webhooks that differ from the lost ones a new version", async () => {
    const [goesOn, other] = [await open("versions"), await open("versions")];
    const versions = async () => [await goesOn.keys.version(), await goesOn.subscriptions.version()] as const;
    for (const id of ["first", "second"]) {
      await goesOn.keys.insert(sampleKey(id));
      await goesOn.subscriptions.insert(sampleSubscription(`wh_${id}`), 9);
    }
    const [keys, subscriptions] = await versions();
    await goesOn.keys.setDisabled("first", true);
    await goesOn.subscriptions.delete("wh_first");
    const lost = await versions();
    await postgres.sql(`
      UPDATE versions.api_key SET disabled = false;
      UPDATE versions.version SET version = ${keys} WHERE name = 'keys';
      UPDATE versions.version SET version = ${subscriptions} WHERE name = 'subscriptions'`);
    await other.keys.setDisabled("second", true);
    await other.subscriptions.delete("wh_second");
    const now = await versions();
    assert.notEqual(now[0], lost[0]);
    assert.notEqual(now[1], lost[1]);
  });
});
