import fc from "fast-check";
import type { IntentName } from "../../lib/store/intent.ts";
import { type Lease, type Store, WATCHER_LEASE } from "../../lib/store/store.ts";
import { partitionLease, PARTITIONS, type Subscription } from "../../lib/store/webhook.ts";
import {
  attempt,
  event,
  hash,
  height,
  id,
  IDS,
  iso,
  keyId,
  merchant,
  settlement,
  text,
  time,
  TYPES,
  undecoded,
  upTo,
} from "./drawn_values.ts";
import { sampleKey, sampleState } from "./samples.ts";
import { sampleReplay, sampleSubscription, START_MS } from "./webhook_samples.ts";

/** A call of any method, as data: each store gets the same. */
export type Call = [noun: keyof Store, method: string, ...args: unknown[]];

export interface Leases {
  watcher: Lease;
  partitions: Lease[];
}

export async function acquireAll(store: Store): Promise<Leases> {
  const acquire = async (name: string) =>
    (await store.leases.acquire({ name, holder: "one and the same", durationMs: 60_000 }))!;
  const names = Array.from({ length: PARTITIONS }, (_, partition) => partitionLease(partition));
  return { watcher: await acquire(WATCHER_LEASE), partitions: await Promise.all(names.map(acquire)) };
}

/** The calls that may change a store in this state. */
export async function changes(store: Store, { watcher, partitions }: Leases): Promise<fc.Arbitrary<Call>> {
  const { last, forgotten } = await store.events.bounds();
  const held = (await store.events.undecoded({ limit: 100 })).map(({ raw: _, ...one }) => ({
    ...one,
    type: "t",
    knownAt: 1,
  }));
  const consumers = (await store.deliveries.consumers({ limit: 9 })).map(({ subscription, progress }) => {
    return { subscriptionId: subscription.id, cursor: progress.cursor, events: 2 };
  });
  const call = (...made: Call) => made;
  const step = fc.tuple(fc.array(fc.oneof(event, event, event, undecoded), { maxLength: 6 }), upTo(9))
    .map(([events, at]) => call("events", "append", { lease: watcher, events, state: sampleState(at) }));
  return fc.oneof(
    { weight: 4, arbitrary: step },
    fc.tuple(fc.subarray(held), event, upTo(9)).map(([some, one, at]) =>
      call("events", "append", { lease: watcher, events: [...some, one], state: sampleState(at) })
    ),
    {
      weight: 6,
      arbitrary: fc.array(settlement(last), { maxLength: 3 }).map((settlements) =>
        call("deliveries", "settle", { leases: partitions, settlements })
      ),
    },
    fc.tuple(upTo(5), fc.subarray(consumers), fc.constantFrom(0, 0, 1)).map(([further, some, wrong]) => {
      const undelivered = some.map((one) => ({ ...one, cursor: one.cursor + wrong }));
      return call("events", "forget", { upTo: Math.min(last, forgotten + further), undelivered });
    }),
    fc.tuple(id, fc.constantFrom("k1", "k2"), listener).map(([one, keyId, fields]) =>
      call("subscriptions", "insert", sampleSubscription(one, { keyId, ...fields }), 3)
    ),
    { weight: 3, arbitrary: keyChanges(call) },
    { weight: 3, arbitrary: secretChanges(await store.subscriptions.list({ limit: 9 }), call) },
    { weight: 2, arbitrary: registerChanges(call) },
    { weight: 4, arbitrary: leaseChanges(call) },
    fc.constantFrom(
      call("subscriptions", "purgeDeleted"),
      call("network", "bind", "one"),
      call("network", "bind", "two"),
    ),
    id.map((one) => call("deliveries", "insertReplay", sampleReplay(`rp_${one}`, one))),
    fc.tuple(id, attempt).map(([one, made]) => call("deliveries", "recordAttempt", one, made)),
    fc.tuple(id, upTo(999)).map(([one, ms]) => call("deliveries", "pruneAttempts", one, START_MS + ms)),
    fc.constantFrom(call("keys", "delete", "k2"), ...IDS.map((one) => call("subscriptions", "delete", one))),
    upTo(49).map((second) => call("events", "forgetUndecoded", `2026-11-01T00:00:${10 + second}Z`)),
    { weight: 3, arbitrary: intentChanges(call) },
    { weight: 4, arbitrary: submissionChanges(call) },
  );
}

const listener = fc.record({
  types: fc.subarray(TYPES, { minLength: 1 }),
  deviceHash: hash,
  merchant,
  ordered: fc.boolean(),
  startHeight: height,
  url: text.map((one) => `https://hooks.example/${encodeURI(one)}`),
}, { requiredKeys: [] });

function keyChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const fields = fc.record({
    name: text,
    scopes: fc.subarray(["read", "write", "webhooks"] as const),
    rate: fc.constantFrom(1, 1_000_000),
    disabled: fc.boolean(),
    expiresAt: iso,
    lastUsedAt: iso,
  }, { requiredKeys: [] });
  const bucket = fc.record({ keyId, tokens: fc.constantFrom(0, -0.1, 1e6, 1 / 3), updatedAtMs: time });
  return fc.oneof(
    fc.tuple(keyId, fields).map(([one, more]) => call("keys", "insert", sampleKey(one, more))),
    fc.tuple(keyId, fc.boolean()).map(([one, isDisabled]) => call("keys", "setDisabled", one, isDisabled)),
    fc.array(fc.record({ id: keyId, lastUsedAt: iso }), { maxLength: 4 }).map((uses) => call("keys", "touch", uses)),
    keyId.map((one) => call("keys", "delete", one)),
    fc.array(bucket, { maxLength: 4 }).map((buckets) => call("buckets", "save", buckets)),
    time.map((ms) => call("buckets", "prune", ms)),
  );
}

function secretChanges(subscriptions: Subscription[], call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const former = fc.record({ secret: text, untilMs: time });
  const secrets = fc.record({ secret: text, previousSecret: fc.option(former), olderSecret: former }, {
    requiredKeys: ["secret", "previousSecret"],
  });
  const named = fc.constantFrom(...subscriptions.map(({ id, secret }) => ({ id, secret })), { id: "wh_0", secret: "" });
  return fc.oneof(
    fc.tuple(
      fc.uniqueArray(fc.tuple(named, secrets, fc.constantFrom("", "", "x")), { selector: ([{ id }]) => id }),
      fc.constantFrom(undefined, null, "c"),
    ).map(([some, check]) =>
      call("subscriptions", "setSecrets", {
        secrets: some.map(([{ id, secret }, next, wrong]) => ({ id, expectedSecret: secret + wrong, ...next })),
        check,
      })
    ),
  );
}

function registerChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const value = fc.option(fc.oneof(fc.jsonValue({ noUnicodeString: false }), text), { nil: undefined });
  return fc.oneof(
    fc.tuple(keyId, value, fc.constantFrom(0, 1, 60_000, 2 ** 32)).map(([name, next, keepMs]) =>
      call("sharedState", "change", name, (before: unknown, nowMs: number) => {
        return { value: next, keepMs, answer: { before, nowMs } };
      })
    ),
    time.map((ms) => call("sharedState", "prune", ms)),
  );
}

function leaseChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const name = fc.constantFrom("one", "another");
  const lease = fc.record({ name, term: fc.integer({ min: 1, max: 9 }) });
  const durationMs = fc.constantFrom(0, 1_000, 60_000, 3_600_000);
  const leases = fc.uniqueArray(lease, { maxLength: 2, selector: ({ name }) => name });
  return fc.oneof(
    fc.tuple(name, fc.constantFrom("me", "you"), durationMs)
      .map(([name, holder, durationMs]) => call("leases", "acquire", { name, holder, durationMs })),
    fc.tuple(leases, durationMs).map(([some, ms]) => call("leases", "renew", some, ms)),
    leases.map((some) => call("leases", "release", some)),
  );
}

export const INTENT: IntentName = { keyId: "k1", kind: "webhook", key: "order-1" };

/** Writes of one intent, with its current or an old version. */
function intentChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const most = fc.constantFrom(0, 2, 2, 2);
  const envelope = fc.constantFrom({}, { envelope: new Uint8Array() }, { envelope: new Uint8Array(60_000).fill(1) });
  return fc.oneof(
    fc.tuple(fc.constantFrom(undefined, "v0", "v1"), upTo(1), most, time, text, envelope)
      .map(([seen, n, mostOfKey, atMs, state, more]) => {
        const intent = { request: "r", state, ...more };
        const step = { name: INTENT, seen, version: `v${n}`, intent, mostOfKey, mostInAll: 9, atMs };
        return call("intents", "set", step);
      }),
    time.map((ms) => call("intents", "prune", ms)),
  );
}

function submissionChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const outcomes = fc.record({
    status: fc.constantFrom("success", "failed", "rejected"),
    ledger: upTo(9),
    error: text.map((message) => ({ code: "invalid_request", message })),
  }, { requiredKeys: ["status"] });
  const noted = fc.record({ source: fc.constantFrom("G0", "G1"), operation: hash }, { requiredKeys: [] });
  const sent = fc.record({
    keyId: fc.constantFrom("k0", "k1"),
    kind: fc.constantFrom("authorize", "claim"),
    source: fc.constantFrom("G0", "G1"),
    idempotencyKey: fc.constant("i"),
    submittedAtMs: upTo(9).map((ms) => START_MS + ms),
  }, { requiredKeys: ["keyId", "kind", "source", "submittedAtMs"] });
  return fc.oneof(
    fc.tuple(hash, time, noted, fc.option(sent, { nil: undefined })).map(([one, ms, fields, more]) => {
      const transaction = more && { ...more, hash: one };
      return call("submissions", "record", { hash: one, validUntil: ms, submittedAtMs: ms, ...fields }, transaction);
    }),
    fc.tuple(hash, sent, outcomes).map(([one, fields, { status, ledger }]) =>
      call("transactions", "add", { ...fields, hash: one, status, ledger })
    ),
    upTo(9).map((ms) => call("transactions", "prune", START_MS + ms)),
    fc.tuple(hash, hash, time, fc.constantFrom("k0", "k1")).map(([one, other, ms, keyId]) =>
      call("references", "record", { hash: one, keyId, reference: other, preparedAtMs: ms })
    ),
    fc.tuple(hash, hash).map(([one, other]) => call("references", "copy", one, other)),
    upTo(9).map((ms) => call("references", "prune", START_MS + ms)),
    fc.tuple(hash, outcomes).map(([one, outcome]) => call("submissions", "recordOutcome", one, outcome)),
    upTo(9).map((ms) => call("submissions", "prune", START_MS + ms)),
  );
}
