// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { isoSeconds } from "../../lib/clock.ts";
import { heightsWithin } from "../../lib/events/close_times.ts";
import { formatEventId, type NewEvent } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { sampleEvent, sampleState, watcherLease } from "../store/samples.ts";

const BEGAN = Date.parse("2026-03-01T00:00:00Z") / 1_000;

/** An event of a ledger, `seconds` after the beginning. */
function eventOf(ledger: number, seconds: number): NewEvent {
  const id = formatEventId({ epoch: 0, ledger, order: 4_097, index: 1 });
  return sampleEvent(0, { id, ledger, ledgerClosedAt: isoSeconds((BEGAN + seconds) * 1_000) });
}

/** A log of these events that counts its reads. */
async function logOf(events: NewEvent[]) {
  const store = await openStore("memory:");
  for (let at = 0; at < events.length; at += 100) {
    const lease = await watcherLease(store);
    await store.events.append({ lease, events: events.slice(at, at + 100), state: sampleState(5_000) });
  }
  let reads = 0;
  const read: typeof store.events.read = (query) => {
    reads += 1;
    return store.events.read(query);
  };
  return { log: { read }, takeReads: () => [reads, reads = 0][0]! };
}

/** Ledgers of a network by the second in which each of them closed. */
const networks: [string, (n: number) => [ledger: number, seconds: number]][] = [
  ["closes a ledger every five seconds", (n) => [58_000_000 + n, n * 5]],
  ["has an event every few minutes", (n) => [58_000_000 + n * 41, n * 205]],
  ["rested for months in the middle", (n) => [58_000_000 + n * 3, n < 1_500 ? n * 15 : n * 15 + 9_000_000]],
  ["closes ledgers ever faster", (n) => [100 + n * 7, Math.floor(90_000 * Math.log1p(n))]],
];

for (const [name, ledgerOf] of networks) {
  test(`the heights of a time take few reads in a long log of a network that ${name}`, async () => {
    const { log, takeReads } = await logOf(Array.from({ length: 3_000 }, (_, n) => eventOf(...ledgerOf(n))));
    for (const [first, last] of [[1, 2], [2, 2_998], [1_499, 1_502], [2_700, 2_997]] as const) {
      const [from, to] = [BEGAN + ledgerOf(first)[1], BEGAN + ledgerOf(last)[1]];
      const { fromHeight, toHeight } = await heightsWithin(log, { from, to }, 1);
      const reads = takeReads();
      assert.deepEqual([fromHeight, toHeight], [ledgerOf(first - 1)[0] + 1, ledgerOf(last)[0] - 1]);
      assert.ok(reads <= 66, `${reads} reads for ${first} to ${last}`);
    }
  });
}
