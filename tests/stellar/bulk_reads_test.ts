// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEntryReader } from "../../lib/stellar/entries.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { fakeClock, stubRpc } from "./rpc/stub_rpc.ts";

const cards = Array.from({ length: 10_000 }, (_, i) => `card${i}`);

/** A reader over a node that takes a tenth of a second for each answer. */
function reader() {
  const clock = fakeClock();
  const head = createHead({ clock, stored: { sequence: 100, closeTime: clock.now() / 1_000 } });
  const asked: string[][] = [];
  const rpc = stubRpc({
    async getLedgerEntries(keys) {
      asked.push(keys);
      await clock.wait(100);
      return { latestLedger: 100, entries: [] };
    },
  });
  return { entries: createEntryReader({ rpc, head, clock }), clock, asked };
}

describe("during a read of a wallet of ten thousand cards", () => {
  const others: [what: string, keys: string[], fresh: boolean, mostMs: number][] = [
    ["the prepare of a payment waits at most 200 ms", ["account", "card"], true, 200],
    ["the read of a card waits at most 300 ms", ["device", "policy", "balance"], false, 300],
    ["a read of the same cards waits at most 200 ms", ["card9999"], true, 200],
  ];
  for (const [what, keys, fresh, mostMs] of others) {
    test(what, async () => {
      const { entries, clock, asked } = reader();
      const wallet = entries.read(cards);
      const beganMs = clock.monotonicMs();
      await entries.read(keys, { fresh });
      assert.ok(clock.monotonicMs() - beganMs <= mostMs, `${clock.monotonicMs() - beganMs} ms`);
      await wallet;
      const own = asked.flat().filter((key) => key.startsWith("card") && key !== "card");
      assert.equal(own.length, cards.length);
    });
  }
});
