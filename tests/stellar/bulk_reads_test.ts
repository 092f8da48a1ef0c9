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

describe("other reads do not wait for all cards of a wallet of ten thousand", () => {
  test("the prepare of a payment", async () => {
    const { entries, clock } = reader();
    const wallet = entries.read(cards);
    const beganMs = clock.monotonicMs();
    await entries.read(["account", "card"], { fresh: true });
    assert.ok(clock.monotonicMs() - beganMs <= 200, `${clock.monotonicMs() - beganMs} ms`);
    await wallet;
  });

  test("the read of a card", async () => {
    const { entries, clock } = reader();
    const wallet = entries.read(cards);
    const beganMs = clock.monotonicMs();
    await entries.read(["device", "policy", "balance"]);
    assert.ok(clock.monotonicMs() - beganMs <= 300, `${clock.monotonicMs() - beganMs} ms`);
    await wallet;
  });

  test("a read of the same cards", async () => {
    const { entries, clock, asked } = reader();
    const wallet = entries.read(cards);
    const beganMs = clock.monotonicMs();
    await entries.read(["card9999"], { fresh: true });
    assert.ok(clock.monotonicMs() - beganMs <= 200, `${clock.monotonicMs() - beganMs} ms`);
    await wallet;
    assert.equal(asked.flat().length, cards.length);
  });
});
