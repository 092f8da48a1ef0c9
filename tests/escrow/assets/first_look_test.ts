// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createBypassMovements } from "../../../lib/escrow/assets/bypass_movements.ts";
import type { LoggedEvent } from "../../../lib/store/event.ts";
import { CONTRACT, sampleEvent } from "../../store/samples.ts";

test("the first check of a long log lets other work run", async () => {
  const events = Array.from({ length: 600 }, (_, n): LoggedEvent => {
    const of = n % 2 === 0
      ? { type: "escrow.funded", deviceHash: String(n) }
      : { type: "payment.claimed", merchant: String(n) };
    return { ...sampleEvent(n), sequence: n + 1, asset: "XLM", amount: "1", ...of };
  });
  let [turn, isDone] = [0, false];
  const readIn = new Map<number, number>();
  const movements = createBypassMovements({
    log: {
      bounds: () => Promise.resolve({ last: events.length, forgotten: 0 }),
      read({ filter: { deviceHash, merchant }, after = 0, upTo = Infinity, limit }) {
        readIn.set(turn, (readIn.get(turn) ?? 0) + 1);
        const isBefore = deviceHash !== undefined || merchant !== undefined;
        const found = events.filter(({ sequence }) => !isBefore && sequence > after && sequence <= upTo);
        return Promise.resolve(found.slice(0, limit));
      },
    },
    contractIds: [CONTRACT],
    assets: { has: (asset) => asset !== "XLM" },
    onBypass() {},
  });
  const looking = movements.look().finally(() => isDone = true);
  for (; !isDone; turn++) await nextTurn();
  await looking;
  assert.equal(movements.found().count, events.length);
  const most = Math.max(...readIn.values());
  assert.ok(most <= 5, `${most} reads in one turn`);
});
