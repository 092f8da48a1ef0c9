import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import { sampleTransaction } from "./contract_transactions.ts";
import { append, appendMany, sampleEvent, sampleKey, sampleState, sampleUndecoded, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  endedOf,
  sampleAttempt,
  sampleFailed,
  sampleReplay,
  settle,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";

/** The contract of a store that outlives its handle. */
export function fileContract({ store, anotherHandle, reopen, isPersistent, isShared }: Subject): void {
  if (!isPersistent) return;

  /** Something of every noun. */
  const allOf = async (of: Store) => [
    of.id,
    await of.network.bound(),
    await of.keys.list({ limit: 9 }),
    await of.keys.version(),
    await of.buckets.load(),
    await of.submissions.get("ab"),
    await of.references.list({ limit: 9 }),
    await of.transactions.all({ limit: 9 }),
    await of.events.watcherState(),
    await of.events.bounds(),
    await of.events.read({ filter: {}, order: "asc", limit: 99 }),
    await of.events.undecoded({ limit: 9 }),
    await of.events.before(1_005),
    await of.subscriptions.list({ limit: 9 }),
    await of.subscriptions.version(),
    await of.subscriptions.secretsCheck(),
    await of.deliveries.consumers({ limit: 9 }),
    await of.deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 9 }),
    await endedOf(of, { subscriptionId: "wh_1", limit: 9 }),
    await of.deliveries.attempts("wh_1", { limit: 9 }),
  ];

  test("a store that is closed and opened again has everything, also its leases", async () => {
    await store().network.bind("Test Network");
    await store().keys.insert(sampleKey("a"));
    await store().buckets.save([{ keyId: "a", tokens: 1.5, updatedAtMs: 3 }]);
    await store().submissions.record({ hash: "ab", validUntil: 1, submittedAtMs: 2 });
    await store().transactions.add(sampleTransaction(1));
    await store().references.record({ hash: "ab", keyId: "a", reference: "r", preparedAtMs: 2 });
    await appendMany(store(), 1, 7);
    await append(store(), sampleUndecoded(8));
    await store().events.forget({ upTo: 2, undelivered: [] });
    await subscribe(store(), "wh_1", "wh_2");
    await settle(store(), {
      subscriptionId: "wh_1",
      cursor: 7,
      failed: [sampleFailed(4, "retrying"), sampleFailed(5, "dead")],
      failingSinceMs: 4,
      attempts: [sampleAttempt(1)],
    });
    await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_2"));
    await store().subscriptions.setSecrets({ secrets: [], check: "check" });
    const leases = await workerLeases(store(), "wh_1");
    const before = await allOf(store());
    await store().close();

    const again = await reopen();
    assert.deepEqual(await allOf(again), before);
    assert.deepEqual(await again.leases.renew(leases, 5), leases);
    assert.equal(await again.leases.acquire({ name: leases[0]!.name, holder: "other", durationMs: 1 }), undefined);
  });

  test("another handle sees a write at once", async () => {
    const other = await anotherHandle();
    await append(store(), sampleEvent(1, { type: "a", contractId: "CA" }));
    const read = async () => (await other.events.read({ filter: {}, order: "asc", limit: 9 })).map(({ type }) => type);
    assert.deepEqual(await read(), ["a"]);
    await append(store(), sampleEvent(2, { type: "b", contractId: "CB" }));
    assert.deepEqual(await read(), ["a", "b"]);
    const ofDevice = { deviceHash: "ab".repeat(32) };
    await append(store(), sampleEvent(3, { type: "c", ...ofDevice }));
    assert.equal((await other.events.read({ filter: ofDevice, order: "asc", limit: 9 })).length, 1);
    assert.deepEqual(await other.events.watcherState(), sampleState(1_001));
  });

  test("a second holdForServing is refused until the first holder closes", { skip: isShared }, async () => {
    const other = await anotherHandle();
    await store().holdForServing();
    await assert.rejects(other.holdForServing(), storeError("locked", store().location, "another gateway"));
    await store().close();
    await other.holdForServing();
  });
}
