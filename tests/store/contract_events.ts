import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../lib/store/store.ts";
import { sampleEvent, samplePosition, sampleState, sampleUndecoded } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

/** Fails in the middle of whatever reads it: the last event of a slice that must then leave nothing behind. */
function poisoned(event: StoredEvent): StoredEvent {
  return Object.defineProperty({ ...event }, "txHash", {
    enumerable: true,
    get() {
      throw new Error("poisoned");
    },
  });
}

export function eventContract({ store, openAgain, isPersistent }: Subject): void {
  const history = () => store().readEvents({ limit: 1_000 });

  test("the watcher's state is undefined before its first commit, then what the last one said", async () => {
    assert.equal(await store().watcherState(), undefined);
    await store().commitEvents({ events: [], state: sampleState(1_000, { rpcCursor: "0000-1" }) });
    assert.deepEqual(await store().watcherState(), sampleState(1_000, { rpcCursor: "0000-1" }));
    await store().commitEvents({ events: [], state: sampleState(1_001, { rpcCursor: undefined }) });
    assert.deepEqual(await store().watcherState(), sampleState(1_001));
  });

  test("a slice's events, state and gaps are there after its commit, with every field", async () => {
    const full = sampleEvent(1, {
      type: "payment.authorized",
      deviceHash: "d1",
      agent: "GA",
      merchant: "GM",
      amount: "7",
    });
    const gap = { epoch: 1, fromLedger: 5, toLedger: 9, noticedAt: "2026-11-01T00:00:00Z" };
    const events = [full, sampleUndecoded(2), sampleEvent(3, { amount: undefined })];
    await store().commitEvents({ events, state: sampleState(1_003), gaps: [gap] });
    assert.deepEqual(await history(), [full, sampleEvent(3)]);
    assert.deepEqual(await store().undecodedEvents({ limit: 100 }), [sampleUndecoded(2)]);
    assert.deepEqual(await store().watcherState(), sampleState(1_003));
    assert.deepEqual(await store().gaps(), [gap]);
  });

  test("a slice that fails leaves nothing: no event, no gap, the state as it was", async () => {
    await store().commitEvents({ events: [sampleEvent(1)], state: sampleState(1_001) });
    const gap = { epoch: 1, fromLedger: 5, toLedger: 9, noticedAt: "2026-11-01T00:00:00Z" };
    const events = [sampleEvent(2), sampleUndecoded(3), poisoned(sampleEvent(4))];
    await assert.rejects(store().commitEvents({ events, state: sampleState(1_004), gaps: [gap] }), /poisoned/);
    assert.deepEqual(await history(), [sampleEvent(1)]);
    assert.deepEqual(await store().undecodedEvents({ limit: 100 }), []);
    assert.deepEqual(await store().gaps(), []);
    assert.deepEqual(await store().watcherState(), sampleState(1_001));
  });

  test("the same slice again changes nothing", async () => {
    const events = Array.from({ length: 100 }, (_, n) => n % 7 === 3 ? sampleUndecoded(n) : sampleEvent(n));
    const gaps = [{ epoch: 1, fromLedger: 5, toLedger: 9, noticedAt: "2026-11-01T00:00:00Z" }];
    const slice = { events, state: sampleState(1_100), gaps };
    await store().commitEvents(slice);
    const before = [await history(), await store().undecodedEvents({ limit: 100 }), await store().gaps()];
    await store().commitEvents({ ...slice, gaps: [{ ...gaps[0]!, noticedAt: "2027-11-01T00:00:00Z" }] });
    assert.deepEqual([await history(), await store().undecodedEvents({ limit: 100 }), await store().gaps()], before);
    assert.equal(before[0]!.length, 86);
    assert.equal(before[1]!.length, 14);
  });

  test("an event whose position is held is left as it is, decoded or not", async () => {
    await store().commitEvents({ events: [sampleEvent(1), sampleUndecoded(2)], state: sampleState(1_002) });
    const again = [sampleUndecoded(1), sampleEvent(2), sampleEvent(3)];
    await store().commitEvents({ events: again, state: sampleState(1_003) });
    assert.deepEqual(await history(), [sampleEvent(1), sampleEvent(3)]);
    assert.deepEqual(await store().undecodedEvents({ limit: 100 }), [sampleUndecoded(2)]);
  });

  test("commitEvents refuses more than 100 events", async () => {
    const events = Array.from({ length: 101 }, (_, n) => sampleEvent(n));
    await assert.rejects(
      store().commitEvents({ events, state: sampleState(1) }),
      new RangeError("at most 100 items fit in one call, got 101"),
    );
    assert.equal(await store().watcherState(), undefined);
  });

  test("a slice of 100 events with every field, each of them in every filter, fits in one commit", async () => {
    const events = Array.from({ length: 100 }, (_, n) =>
      sampleEvent(n, {
        type: `payment.kind${n % 9}`,
        deviceHash: "ab".repeat(32),
        agent: "G".repeat(56),
        merchant: "M".repeat(56),
        amount: "9".repeat(39),
      }));
    const gaps = Array.from({ length: 100 }, (_, n) => ({ epoch: 1, fromLedger: n, toLedger: n, noticedAt: "now" }));
    await store().commitEvents({ events, state: sampleState(1_100), gaps });
    assert.deepEqual(await history(), events);
    assert.deepEqual(await store().gaps(), gaps);
  });

  test("a slice of 100 undecoded events as large as the network allows fits in one commit", async () => {
    const value = "A".repeat(22_000);
    const events = Array.from({ length: 100 }, (_, n) => ({ ...sampleUndecoded(n), raw: { topics: ["AAAA"], value } }));
    await store().commitEvents({ events, state: sampleState(1_100) });
    assert.deepEqual(await store().undecodedEvents({ limit: 100 }), events);
  });

  test("undecodedEvents pages ascending by position and answers nothing else", async () => {
    const events = [sampleUndecoded(1), sampleEvent(2), sampleUndecoded(3), sampleUndecoded(4)];
    await store().commitEvents({ events, state: sampleState(1_004) });
    const page = await store().undecodedEvents({ limit: 2 });
    assert.deepEqual(page, [sampleUndecoded(1), sampleUndecoded(3)]);
    assert.deepEqual(await store().undecodedEvents({ after: page[1]!.position, limit: 2 }), [sampleUndecoded(4)]);
    assert.deepEqual(await store().undecodedEvents({ after: samplePosition(4), limit: 2 }), []);
    await assert.rejects(store().undecodedEvents({ limit: 101 }), RangeError);
  });

  test("decodeEvents moves events into the history, in their place and under their filters", async () => {
    await store().commitEvents({
      events: [sampleEvent(1), sampleUndecoded(2), sampleEvent(3)],
      state: sampleState(1_003),
    });
    const decoded = sampleEvent(2, { type: "payment.claimed", merchant: "GM", amount: "5" });
    await store().decodeEvents([decoded]);
    assert.deepEqual(await history(), [sampleEvent(1), decoded, sampleEvent(3)]);
    assert.deepEqual(await store().readEvents({ limit: 9, merchant: "GM", types: ["payment.claimed"] }), [decoded]);
    assert.deepEqual(await store().undecodedEvents({ limit: 9 }), []);
  });

  test("decodeEvents passes over events that are decoded already and positions it does not know", async () => {
    await store().commitEvents({ events: [sampleEvent(1)], state: sampleState(1_001) });
    await store().decodeEvents([sampleEvent(1, { amount: "5" }), sampleEvent(2)]);
    assert.deepEqual(await history(), [sampleEvent(1)]);
  });

  test("decodeEvents that fails replaces none", async () => {
    await store().commitEvents({ events: [sampleUndecoded(1), sampleUndecoded(2)], state: sampleState(1_002) });
    await assert.rejects(store().decodeEvents([sampleEvent(1), poisoned(sampleEvent(2))]), /poisoned/);
    assert.deepEqual(await store().undecodedEvents({ limit: 9 }), [sampleUndecoded(1), sampleUndecoded(2)]);
    assert.deepEqual(await history(), []);
  });

  test("gaps are answered ascending by epoch and ledger", async () => {
    const gap = (epoch: number, fromLedger: number) => ({
      epoch,
      fromLedger,
      toLedger: fromLedger + 3,
      noticedAt: "now",
    });
    await store().commitEvents({ events: [], state: sampleState(1), gaps: [gap(2, 5), gap(1, 100)] });
    await store().commitEvents({ events: [], state: sampleState(2), gaps: [gap(1, 20)] });
    assert.deepEqual(await store().gaps(), [gap(1, 20), gap(1, 100), gap(2, 5)]);
  });

  if (isPersistent) {
    test("slices committed through two handles at once are all there", async () => {
      const other = await openAgain();
      const commits = Array.from(
        { length: 20 },
        (_, n) => (n % 2 ? store() : other).commitEvents({ events: [sampleEvent(n)], state: sampleState(1_000 + n) }),
      );
      await Promise.all(commits);
      assert.deepEqual(await history(), Array.from({ length: 20 }, (_, n) => sampleEvent(n)));
    });
  }
}
