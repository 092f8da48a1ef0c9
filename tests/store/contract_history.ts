import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventQuery, Store, StoredEvent } from "../../lib/store/store.ts";
import { sampleEvent, samplePosition, sampleState, sampleUndecoded } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

const TYPES = ["escrow.funded", "payment.authorized", "payment.claimed"];
const DEVICES = ["d1", "d2", undefined];
const MERCHANTS = ["m1", "m2", undefined];

/** Every combination of the filtered fields, many times over, with undecoded events between. */
function mixedEvents(): StoredEvent[] {
  return Array.from({ length: 270 }, (_, n) => {
    if (n % 13 === 5) return sampleUndecoded(n);
    const fields: Partial<StoredEvent> = { type: TYPES[n % 3]! };
    const deviceHash = DEVICES[Math.floor(n / 3) % 3];
    const merchant = MERCHANTS[Math.floor(n / 9) % 3];
    if (deviceHash) fields.deviceHash = deviceHash;
    if (merchant) fields.merchant = merchant;
    return sampleEvent(n, fields);
  });
}

async function commitMixed(store: Store): Promise<StoredEvent[]> {
  const events = mixedEvents();
  // The middle last: a backfill brings older events later.
  for (const part of [events.slice(0, 90), events.slice(180), events.slice(90, 180)]) {
    await store.commitEvents({ events: part, state: sampleState(1_270) });
  }
  return events;
}

/** What `readEvents` promises, done the plain way. */
function expected(events: StoredEvent[], query: EventQuery): StoredEvent[] {
  return events.filter((event) =>
    event.type !== null &&
    (query.after === undefined || event.position > query.after) &&
    (query.upTo === undefined || event.position <= query.upTo) &&
    (query.types === undefined || query.types.includes(event.type)) &&
    (query.deviceHash === undefined || event.deviceHash === query.deviceHash) &&
    (query.merchant === undefined || event.merchant === query.merchant)
  ).slice(0, query.limit);
}

export function historyContract({ store, openAgain, isPersistent }: Subject): void {
  test("readEvents of an empty store answers nothing, whatever the filter", async () => {
    assert.deepEqual(await store().readEvents({ limit: 1 }), []);
    assert.deepEqual(await store().readEvents({ limit: 1, types: TYPES, deviceHash: "d1", merchant: "m1" }), []);
    assert.deepEqual(await store().readEvents({ limit: 1, merchant: "m1" }), []);
  });

  test("readEvents answers what matches every filter, in order, within its bounds", async () => {
    const events = await commitMixed(store());
    const bounds = [{}, { after: samplePosition(100) }, { upTo: samplePosition(50) }, {
      after: samplePosition(40),
      upTo: samplePosition(200),
    }];
    for (const types of [undefined, [TYPES[1]!], [TYPES[2]!, TYPES[0]!], [...TYPES, "no.such"]]) {
      for (const deviceHash of [undefined, "d2", "d9"]) {
        for (const merchant of [undefined, "m1"]) {
          for (const bound of bounds) {
            for (const limit of [7, 1_000]) {
              const query = { ...bound, limit, types, deviceHash, merchant };
              assert.deepEqual(await store().readEvents(query), expected(events, query), JSON.stringify(query));
            }
          }
        }
      }
    }
  });

  test("readEvents answers each event once when a type is named twice, and none for an empty list of types", async () => {
    const events = await commitMixed(store());
    const types = [TYPES[0]!, TYPES[0]!];
    assert.deepEqual(await store().readEvents({ limit: 1_000, types }), expected(events, { limit: 1_000, types }));
    assert.deepEqual(await store().readEvents({ limit: 1_000, types: [] }), []);
  });

  test("pages that follow one another by position answer every match once", async () => {
    const events = await commitMixed(store());
    for (const filter of [{}, { types: TYPES.slice(1) }, { deviceHash: "d1" }, { merchant: "m2", deviceHash: "d2" }]) {
      const paged: StoredEvent[] = [];
      for (let page = await store().readEvents({ limit: 11, ...filter }); page.length > 0;) {
        paged.push(...page);
        page = await store().readEvents({ limit: 11, after: page.at(-1)!.position, ...filter });
      }
      assert.deepEqual(paged, expected(events, { limit: 1_000, ...filter }));
    }
  });

  test("a page never shows a part of a slice that is being committed", async () => {
    const writer = isPersistent ? await openAgain() : store();
    let isDone = false;
    const commits = (async () => {
      for (let n = 0; n < 60; n++) {
        const types = ["a.type", "b.type", "c.type", "d.type"];
        const events = types.map((type, index) => sampleEvent(4 * n + index, { type, deviceHash: "d1" }));
        await writer.commitEvents({ events, state: sampleState(n) });
      }
    })().finally(() => isDone = true);
    while (!isDone) {
      const pages = await Promise.all(
        Array.from({ length: 8 }, () => store().readEvents({ limit: 1_000, deviceHash: "d1" })),
      );
      for (const page of pages) assert.equal(page.length % 4, 0, "a part of a slice was visible");
    }
    await commits;
  });

  test("readEvents refuses a limit that is no integer from 1 to 1000", async () => {
    for (const limit of [0, -1, 2.5, 1_001]) await assert.rejects(store().readEvents({ limit }), RangeError);
  });
}
