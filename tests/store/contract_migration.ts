import assert from "node:assert/strict";
import { test } from "node:test";
import { formatEventId, heightOf, type LoggedEvent } from "../../lib/store/event.ts";
import type { Store } from "../../lib/store/store.ts";
import type { FailedDelivery } from "../../lib/store/webhook.ts";
import { append, CONTRACT, sampleEvent, sampleKey } from "./samples.ts";
import { freshProgress, progressOf, sampleReplay, START_MS } from "./webhook_samples.ts";

const OTHER_CONTRACT = "CBQHNAXSI55GX2GN6D67GK7BHVPSLJUGZQEU7WJ5LKR5PNUCGLIMAO4K";
const DEVICE = "fe".repeat(32);

/**
 * How much a file holds: 1 without webhooks; 2 with them; 3 with the oldest of three secrets, with events that came late,
 * and without two that were forgotten.
 */
export type Content = 1 | 2 | 3;

/** What a driver wrote before it kept a log, and the store that is made of it. */
export interface FormerFiles {
  /** Its number of a schema, and what its file holds. */
  schemas: { schema: number; content: Content }[];
  migrated(schema: number): Promise<Store>;
}

const log = (store: Store) => store.events.read({ filter: {}, order: "asc", limit: 1_000 });

/** The event that the fixtures have in this ledger, every second of one contract and type. */
function fixtureEvent(epoch: number, ledger: number, index: number, fields: Partial<LoggedEvent> = {}) {
  const seconds = Date.parse(epoch === 0 ? "2026-01-01T00:00:00Z" : "2026-03-01T00:00:00Z") / 1_000 + 5 * ledger;
  const closedAt = fields.ledgerClosedAt ?? `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`;
  return {
    id: formatEventId({ epoch, ledger, order: 4_097, index }),
    type: index % 2 ? "escrow.funded" : "payment.authorized",
    contractId: index % 2 ? CONTRACT : OTHER_CONTRACT,
    ledger,
    ledgerClosedAt: closedAt,
    txHash: (1_000 * epoch + ledger).toString(16).padStart(64, "0"),
    knownAt: Date.parse(closedAt) / 1_000,
    ...fields,
  };
}

/** What the fixtures hold, by position. */
const FIRST_EPOCH = [101, 102, 103, 104, 105].map((ledger, n) =>
  fixtureEvent(
    0,
    ledger,
    n % 2 + 1,
    ledger === 101 ? {} : { ledgerClosedAt: `2026-02-0${ledger === 102 ? 1 : 2}T00:00:00Z` },
  )
);
const SECOND_EPOCH = Array.from({ length: 10 }, (_, n) =>
  fixtureEvent(
    1,
    11 + n,
    n % 2 + 1,
    n !== 3 ? { deviceHash: DEVICE, amount: String(n) } : {
      deviceHash: "0123456789abcdef".repeat(4),
      agent: "GDQERENWDDSQZS7R7WKHZI3BSOYMV3FSWR7TFUYFTKQ447PIX6NREOJM",
      merchant: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
      amount: "170141183460469231731687303715884105727",
    },
  ));
const LATE = [14, 15].map((ledger, n) => fixtureEvent(1, ledger, 7, { amount: `7${n + 1}` }));

const retrying = (sequence: number, attempts = 0, dueAtMs = START_MS): FailedDelivery => {
  return { sequence, state: "retrying", attempts, dueAtMs, failedAtMs: START_MS - 1_000, attemptedAtMs: 0 };
};

async function keptOf(store: Store, subscriptionId: string): Promise<FailedDelivery[]> {
  const found = [
    ...await store.deliveries.retrying({ subscriptionId, limit: 200 }),
    ...await store.deliveries.ended({ subscriptionId, limit: 200 }),
  ];
  for (const { delivery, event } of found) assert.equal(event.sequence, delivery.sequence);
  return found.map(({ delivery }) => delivery);
}

/** Proves that what a program before the log wrote is there, noun by noun, and that what webhooks are owed is owed still. */
export function migrationContract({ schemas, migrated }: FormerFiles): void {
  for (const { schema, content } of schemas) {
    test(`schema ${schema}: keeps its network, keys, buckets, submissions and the watcher's state`, async () => {
      const store = await migrated(schema);
      assert.match(store.id, /^[0-9A-Za-z]{12}$/);
      assert.equal(await store.network.bound(), "Test Network");
      assert.deepEqual(await store.keys.list({ limit: 9 }), [
        sampleKey("a", {
          name: 'Kasse "Süd"',
          scopes: ["read", "webhooks"],
          rate: 60,
          lastUsedAt: "2026-11-02T00:00:00.000Z",
        }),
        sampleKey("b", {
          name: "b",
          hash: "cd".repeat(32),
          scopes: [],
          disabled: true,
          expiresAt: "2027-11-01T00:00:00.000Z",
        }),
      ]);
      assert.deepEqual(await store.buckets.load(), [{ keyId: "a", tokens: 1.5, updatedAtMs: 3 }]);
      assert.deepEqual(await store.submissions.get("ab"), { hash: "ab", validUntil: 1, submittedAtMs: 2 });
      const contractIds = [CONTRACT, OTHER_CONTRACT];
      assert.deepEqual(await store.events.watcherState(), {
        epoch: 1,
        latestLedger: 32,
        latestLedgerCloseTime: 1_793_491_200,
        scannedLedger: 30,
        rpcCursor: "0000000133143986175-4294967295",
        settledLedger: 30,
        rescans: [],
        checkpoints: [],
        formerCheckpoints: [],
        contracts: Object.fromEntries(contractIds.map((id) => [id, { fromLedger: 10, toLedger: null }])),
        gaps: [
          { epoch: 0, fromLedger: 50, toLedger: 99, contractIds, noticedAt: "2026-01-02T00:00:00Z", reason: "pruned" },
          { epoch: 1, fromLedger: 5, toLedger: 9, contractIds, noticedAt: "2026-03-02T00:00:00Z", reason: "pruned" },
        ],
        formerEpochs: [{ epoch: 0, fromLedger: content === 3 ? 103 : 101, toLedger: 105 }],
      });
      await store.close();
    });

    test(`schema ${schema}: its events are a log by ledger, those that came late last; undecoded ones are kept`, async () => {
      const store = await migrated(schema);
      // The program had forgotten two events: the log does not begin at its beginning.
      const held = content < 3
        ? [...FIRST_EPOCH, ...SECOND_EPOCH]
        : [...FIRST_EPOCH.slice(2), ...SECOND_EPOCH, ...LATE];
      const forgotten = content < 3 ? 0 : 1;
      const expected = held.map((event, n) => ({ ...event, sequence: forgotten + n + 1 }));
      assert.deepEqual(await log(store), expected);
      assert.deepEqual(await store.events.bounds(), { last: forgotten + held.length, forgotten });
      for (const event of expected) assert.deepEqual(await store.events.get(event.id), event);
      const [undecoded] = await store.events.undecoded({ limit: 9 });
      const { knownAt: _, ...origin } = fixtureEvent(1, 21, 1);
      assert.deepEqual(undecoded, {
        ...origin,
        type: null,
        raw: { topics: ["AAAADwAAAARmdW5k", "AAAA"], value: "AAAACg==" },
      });
      const upTo15 = await store.events.read({ filter: { toHeight: heightOf(1, 15) }, order: "asc", limit: 99 });
      assert.deepEqual(upTo15, expected.filter(({ id, ledger }) => !id.startsWith("1-") || ledger <= 15));
      const [next] = await append(store, sampleEvent(500));
      assert.equal(next!.sequence, forgotten + held.length + 1);
      await store.close();
    });
  }

  for (const { schema, content } of schemas.filter(({ content }) => content > 1)) {
    test(`schema ${schema}: subscriptions hear what they had not got, with secrets, start and replays`, async () => {
      const store = await migrated(schema);
      // Sequences of the events of the ledgers 11 to 20 of the second epoch.
      const [base, end] = content === 2 ? [5, 15] : [4, 14];
      const of = (ledger: number) => base + ledger - 10;
      const readers = await store.deliveries.readers({ limit: 9 });
      const common = {
        keyId: "a",
        deviceHash: null,
        merchant: null,
        ordered: false,
        createdAt: "2026-11-01T00:00:00.000Z",
      };
      const previousSecret = { secret: "whsec_before", untilMs: START_MS };
      const olderSecret = { secret: "whsec_long_before", untilMs: START_MS - 5 };
      const named = (id: string) => ({ ...common, id, url: `https://hooks.example/${id}`, secret: `whsec_of_${id}` });
      assert.deepEqual(readers.map(({ subscription }) => subscription), [
        { ...named("wh_a"), types: null, previousSecret: null, startHeight: 101 },
        {
          ...named("wh_b"),
          types: ["payment.authorized", "escrow.funded"],
          deviceHash: DEVICE,
          previousSecret,
          ...(content === 3 ? { olderSecret } : {}),
          startHeight: heightOf(1, 13),
        },
        { ...named("wh_c"), types: null, previousSecret: null, startHeight: heightOf(1, 11) },
      ]);
      // Fan-out stood in the middle of the event of ledger 18: wh_a had got it, the others had not.
      assert.deepEqual(readers.map(({ progress }) => progress.cursor), [of(18), of(17), of(17)]);
      assert.deepEqual(readers.map(({ replay }) => replay), [
        null,
        sampleReplay("re_2", "wh_b", {
          fromHeight: heightOf(1, 13),
          toHeight: heightOf(1, 40),
          cursor: of(12),
          endSequence: null,
          deliveries: 8,
          createdAtMs: START_MS + 1,
        }),
        sampleReplay("re_1", "wh_c", {
          fromHeight: heightOf(1, 11),
          toHeight: heightOf(1, 17),
          cursor: of(12),
          endSequence: of(17),
          deliveries: 7,
        }),
      ]);
      assert.ok(end > of(18), "there is more to hear");
      assert.equal(await store.subscriptions.secretsCheck(), "a sealed text");
      assert.ok(await store.subscriptions.version() > 0);
      await store.close();
    });

    test(`schema ${schema}: every pending delivery is tried again, every dead one is kept, once for each event`, async () => {
      const store = await migrated(schema);
      const base = content === 2 ? 5 : 4;
      const of = (ledger: number) => base + ledger - 10;
      const dead = { ...retrying(of(12), 15), state: "dead" as const, dueAtMs: null };
      assert.deepEqual(await keptOf(store, "wh_a"), [
        retrying(of(11), 3, START_MS + 5_000),
        ...[14, 15, 16, 17, 18].map((ledger) => retrying(of(ledger))),
        dead,
      ]);
      assert.deepEqual(
        await progressOf(store, "wh_a"),
        freshProgress(of(18), { retrying: 6, dead: 1, nextDueAtMs: START_MS }),
      );
      assert.deepEqual(await keptOf(store, "wh_b"), [13, 15, 16, 17].map((ledger) => retrying(of(ledger))));
      // Its replay had taken the event of ledger 11 on again, and that of 12 beside the dead delivery.
      assert.deepEqual(await keptOf(store, "wh_c"), [
        retrying(of(11), 2, START_MS + 5_000),
        ...[12, 13, 14, 15, 16, 17].map((ledger) => retrying(of(ledger))),
      ]);
      assert.deepEqual(
        await progressOf(store, "wh_c"),
        freshProgress(of(17), { retrying: 7, nextDueAtMs: START_MS }),
      );
      await store.close();
    });

    test(`schema ${schema}: attempts are kept in their order, in today's words`, async () => {
      const store = await migrated(schema);
      const attempts = (await store.deliveries.attempts("wh_a", { limit: 9 })).toReversed();
      assert.deepEqual(attempts.map(({ ordinal, outcome }) => [ordinal, outcome]), [
        ...[1, 2, 3, 4, 5].map((n) => [n, "delivered"]),
        [6, "retry"],
        [7, "dead"],
        [8, "rejected"],
      ]);
      assert.deepEqual(attempts[5], {
        ordinal: 6,
        replayId: null,
        eventId: SECOND_EPOCH[0]!.id,
        eventType: SECOND_EPOCH[0]!.type,
        number: 3,
        atMs: START_MS + 6,
        durationMs: 12.5,
        outcome: "retry",
        statusCode: 500,
        error: "HTTP 500",
        responseBody: "body",
        nextAttemptAtMs: START_MS + 5_000,
      });
      assert.equal(attempts[0]!.responseBody, null, "of a success the body is not kept");
      const ofReplay = await store.deliveries.attempts("wh_c", { limit: 2 });
      assert.deepEqual(ofReplay.map(({ ordinal, replayId, number }) => [ordinal, replayId, number]), [
        [4, null, 0],
        [3, "re_1", 2],
      ]);
      await store.close();
    });
  }
}
