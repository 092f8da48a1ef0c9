import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { formatEventId, heightOf } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Intent, IntentName } from "../../lib/store/intent.ts";
import { type Lease, type Store, StoreError, WATCHER_LEASE } from "../../lib/store/store.ts";
import { partitionLease, PARTITIONS } from "../../lib/store/webhook.ts";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";
import { sampleAttempt, sampleReplay, sampleSubscription, START_MS } from "./webhook_samples.ts";
import { sampleState } from "./samples.ts";

/** A call of any method, as data: each store gets the same. */
type Call = [noun: keyof Store, method: string, ...args: unknown[]];

const RUNS = 5;
const STEPS = 100;

const IDS = ["wh_1", "wh_2", "wh_3"];
const TYPES = ["escrow.funded", "escrow.claimed", "payment.authorized"];
const hash = fc.constantFrom("0", "1", "2").map((digit) => digit.repeat(64));
const merchant = fc.constantFrom("GM0", "GM1");
const agent = fc.constantFrom("GA0", "GA1");
const id = fc.constantFrom(...IDS);
const epoch = fc.constantFrom(0, 0, 0, 1);
const upTo = (most: number) => fc.nat({ max: most });

/** Few ledgers and subjects, so that much meets: the same id twice, an event below those that are known already. */
const origin = fc.record({ epoch, ledger: fc.integer({ min: 1, max: 40 }), order: upTo(2), index: upTo(2) }).chain((
  parts,
) =>
  fc.record({
    id: fc.constant(formatEventId(parts)),
    contractId: fc.constant("C".repeat(56)),
    ledger: fc.constant(parts.ledger),
    ledgerClosedAt: upTo(49).map((second) => `2026-11-01T00:00:${10 + second}Z`),
    txHash: hash,
  })
);
const fields = fc.record({ deviceHash: hash, merchant, agent, amount: fc.constant("5") }, { requiredKeys: [] });
const event = fc.tuple(origin, fields, fc.constantFrom(...TYPES), upTo(99))
  .map(([from, more, type, knownAt]) => ({ ...from, ...more, type, knownAt }));
const undecoded = fc.tuple(origin, upTo(50_000))
  .map(([from, size]) => ({ ...from, type: null, raw: { topics: ["A".repeat(size)], value: "B" } }));
const height = fc.tuple(epoch, upTo(44)).map(([of, ledger]) => heightOf(of, ledger));
const filter = fc.record({
  types: fc.subarray(TYPES),
  deviceHash: hash,
  merchant,
  agent,
  txHash: hash,
  fromHeight: height,
  toHeight: height,
}, { requiredKeys: [] });
const attempt = fc.tuple(upTo(999), fc.constantFrom("delivered", "retry", "rejected", "dead"))
  .map(([n, outcome]) => sampleAttempt(n, { outcome: outcome as "dead" }));

/** Of events that there are; how many is known only then. */
function settlement(last: number) {
  const failed = fc.record({
    sequence: fc.integer({ min: 1, max: Math.max(1, last) }),
    state: fc.constantFrom("retrying", "rejected", "dead"),
    attempts: upTo(5),
    dueAtMs: upTo(50).map((ms) => START_MS + ms),
    failedAtMs: fc.constant(START_MS),
  }).map((one) => one.state === "retrying" ? one : { ...one, dueAtMs: null });
  return fc.record({
    subscriptionId: id,
    cursor: upTo(last),
    failed: last === 0
      ? fc.constant([])
      : fc.uniqueArray(failed, { maxLength: 4, selector: ({ sequence }) => sequence }),
    delivered: fc.array(fc.integer({ min: 1, max: last + 1 }), { maxLength: 2 }),
    failingSinceMs: fc.constantFrom(null, START_MS),
    replay: fc.record({ id: id.map((one) => `rp_${one}`), cursor: upTo(last), done: fc.boolean() }),
    attempts: fc.array(attempt, { maxLength: 3 }),
  }, { requiredKeys: ["subscriptionId", "attempts"] });
}

interface Leases {
  watcher: Lease;
  partitions: Lease[];
}

async function acquireAll(store: Store): Promise<Leases> {
  const acquire = async (name: string) =>
    (await store.leases.acquire({ name, holder: "one and the same", durationMs: 60_000 }))!;
  const names = Array.from({ length: PARTITIONS }, (_, partition) => partitionLease(partition));
  return { watcher: await acquire(WATCHER_LEASE), partitions: await Promise.all(names.map(acquire)) };
}

/** What may be done to a store that stands like this one. */
async function changes(store: Store, { watcher, partitions }: Leases): Promise<fc.Arbitrary<Call>> {
  const { last, forgotten } = await store.events.bounds();
  const held = (await store.events.undecoded({ limit: 100 })).map(({ raw: _, ...one }) => ({
    ...one,
    type: "t",
    knownAt: 1,
  }));
  const readers = (await store.deliveries.readers({ limit: 9 })).map(({ subscription, progress }) => {
    return { subscriptionId: subscription.id, cursor: progress.cursor, events: 2 };
  });
  const call = (...made: Call) => made;
  const step = fc.tuple(fc.array(fc.oneof(event, event, event, undecoded), { maxLength: 6 }), upTo(9))
    .map(([events, at]) => call("events", "append", { lease: watcher, events, state: sampleState(at) }));
  return fc.oneof(
    { weight: 4, arbitrary: step },
    fc.tuple(fc.subarray(held), event).map(([some, one]) =>
      call("events", "appendDecoded", { lease: watcher, events: [...some, one] })
    ),
    {
      weight: 6,
      arbitrary: fc.array(settlement(last), { maxLength: 3 }).map((settlements) =>
        call("deliveries", "settle", { leases: partitions, settlements })
      ),
    },
    fc.tuple(upTo(5), fc.subarray(readers), fc.constantFrom(0, 0, 1)).map(([further, some, wrong]) => {
      const undelivered = some.map((one) => ({ ...one, cursor: one.cursor + wrong }));
      return call("events", "forget", { upTo: Math.min(last, forgotten + further), undelivered });
    }),
    fc.tuple(id, fc.constantFrom("k1", "k2")).map(([one, keyId]) =>
      call("subscriptions", "insert", sampleSubscription(one, { keyId }), 3)
    ),
    id.map((one) => call("deliveries", "insertReplay", sampleReplay(`rp_${one}`, one))),
    fc.tuple(id, attempt).map(([one, made]) => call("deliveries", "recordAttempt", one, made)),
    fc.tuple(id, upTo(999)).map(([one, ms]) => call("deliveries", "pruneAttempts", one, START_MS + ms)),
    fc.tuple(id, upTo(50)).map(([one, ms]) => call("deliveries", "clampDue", one, START_MS + ms)),
    fc.constantFrom(call("keys", "delete", "k2"), call("subscriptions", "delete", "wh_3")),
    upTo(49).map((second) => call("events", "forgetUndecoded", `2026-11-01T00:00:${10 + second}Z`)),
    { weight: 3, arbitrary: intentChanges(await store.intents.get(INTENT), call) },
    { weight: 3, arbitrary: submissionChanges(call) },
  );
}

const INTENT: IntentName = { keyId: "k1", kind: "prepare", key: "order-1" };

/** Of one intent: claimed as it is seen, or as it never was; completed and released under its claim, or under a lost one. */
function intentChanges(seen: Intent | undefined, call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const claimed = { ...INTENT, id: seen?.id ?? "", term: seen?.term ?? 1 };
  const most = fc.constantFrom(0, 2, 2, 2);
  return fc.oneof(
    fc.tuple(fc.constantFrom(0, 60_000), fc.boolean(), most).map(([durationMs, isSeen, mostOfKey]) => {
      const [id, request] = ["i".repeat(22), "ab".repeat(32)];
      const step = { name: INTENT, seen: isSeen ? seen : undefined, id, request, durationMs, mostOfKey, mostInAll: 9 };
      return call("intents", "claim", step);
    }),
    upTo(1).map((lost) =>
      call("intents", "complete", { ...claimed, term: claimed.term - lost }, { request: "r", result: "{}" })
    ),
    upTo(1).map((lost) => call("intents", "release", { ...claimed, term: claimed.term - lost })),
    fc.tuple(upTo(3), fc.constantFrom(0, 60_000)).map(([used, validForMs]) =>
      call("intents", "nextNonce", { deviceHash: "d", agent: "a", used: String(used), validForMs })
    ),
    upTo(1).map((ms) => call("intents", "prune", START_MS + ms)),
  );
}

function submissionChanges(call: (...made: Call) => Call): fc.Arbitrary<Call> {
  const outcomes = fc.record({
    status: fc.constantFrom("success", "failed", "rejected"),
    ledger: upTo(9),
    error: fc.constant({ code: "invalid_request", message: "no" }),
  }, { requiredKeys: ["status"] });
  const noted = fc.record({ source: fc.constantFrom("G0", "G1"), operation: hash }, { requiredKeys: [] });
  return fc.oneof(
    fc.tuple(hash, upTo(9), noted).map(([one, ms, fields]) =>
      call("submissions", "record", { hash: one, validUntil: 1, submittedAtMs: START_MS + ms, ...fields })
    ),
    fc.tuple(hash, outcomes).map(([one, outcome]) => call("submissions", "recordOutcome", one, outcome)),
    upTo(9).map((ms) => call("submissions", "prune", START_MS + ms)),
  );
}

/** What can be asked. */
const questions: fc.Arbitrary<Call[]> = fc.record({
  one: id,
  page: fc.record({ after: upTo(99), upTo: upTo(99) }, { requiredKeys: [] }),
  filter,
  order: fc.constantFrom("asc", "desc"),
  limit: fc.integer({ min: 1, max: 30 }),
  height,
  origin,
}).map(({ one, page, filter, order, limit, height, origin }) => [
  ["events", "bounds"],
  ["events", "read", { filter, order, limit, ...page }],
  ["events", "count", { filter, limit, ...page }],
  ["events", "before", height],
  ["events", "get", origin.id],
  ["events", "watcherState"],
  ["events", "undecoded", { limit: 100 }],
  ["deliveries", "readers", { limit: 9 }],
  ["deliveries", "retrying", { subscriptionId: one, limit }],
  ["deliveries", "retrying", { subscriptionId: one, dueByMs: START_MS + 25, limit }],
  ["deliveries", "ended", { subscriptionId: one, limit }],
  ["deliveries", "attempts", one, { limit }],
  ["subscriptions", "list", { limit }],
  ["intents", "get", INTENT],
  ["submissions", "get", origin.txHash],
  ["submissions", "withoutOutcome", { source: "G1", after: origin.txHash, limit }],
  ["submissions", "withoutOutcome", { limit }],
]);

/** The answer, or of which kind the refusal was. */
async function ask(store: Store, [noun, method, ...args]: Call): Promise<unknown> {
  try {
    const methods = store[noun] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return await methods[method]!(...args);
  } catch (error) {
    if (error instanceof StoreError) return { refused: error.kind };
    if (error instanceof RangeError) return { refused: error.name };
    throw error;
  }
}

function describeAlike(hasDenoKv: boolean, programs: string | undefined): void {
  const root = mkdtempSync(join(tmpdir(), "alike-"));
  let cluster: Cluster | undefined;
  let schemas = 0;
  before(async () => {
    if (programs === undefined) return;
    cluster = await startCluster(programs);
    await cluster.useTestClock();
    cluster.setClock(START_MS);
  });
  after(() => cluster?.remove());

  describe("stores of different drivers", () => {
    after(() => rmSync(root, { recursive: true }));

    test("answer alike, whatever is done to them", async () => {
      const runs = fc.asyncProperty(fc.gen(), async (generate) => {
        const directory = mkdtempSync(join(root, "run-"));
        const settings = [
          `sqlite:${directory}/gateway.db`,
          ...(hasDenoKv ? [`deno-kv:${directory}/gateway.kv`] : []),
          ...(cluster === undefined ? [] : [cluster.setting({ schema: `alike_${++schemas}` })]),
        ];
        const stores = await Promise.all(settings.map((setting) => openStore(setting, { now: () => START_MS })));
        const done: Call[] = [];
        const alike = async (call: Call) => {
          const [first, ...others] = await Promise.all(stores.map((store) => ask(store, call)));
          for (const [n, other] of others.entries()) {
            const message = `${settings[n + 1]}: ${call[0]}.${call[1]} after ${JSON.stringify(done.slice(-5))}`;
            assert.deepEqual(other, first, message);
          }
        };
        try {
          const [leases] = await Promise.all(stores.map(acquireAll));
          for (const one of IDS) await alike(["subscriptions", "insert", sampleSubscription(one, { keyId: "k1" }), 9]);
          for (let step = 0; step < STEPS; step++) {
            const calls = await changes(stores[0]!, leases!);
            done.push(generate(() => calls));
            await alike(done.at(-1)!);
            for (const call of generate(() => questions)) await alike(call);
          }
        } finally {
          for (const store of stores) await store.close();
        }
      });
      // Everything that was generated would be told otherwise.
      const { failed, errorInstance, seed, numRuns } = await fc.check(runs, { numRuns: RUNS, endOnFailure: true });
      if (failed) throw new Error(`run ${numRuns} of seed ${seed}`, { cause: errorInstance });
    });
  });
}

const programs = findPostgres();
const hasDenoKv = runtimeName === "deno";
if (hasDenoKv || programs !== undefined) describeAlike(hasDenoKv, programs);
