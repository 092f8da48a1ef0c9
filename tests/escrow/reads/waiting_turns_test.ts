// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createWaitingMerchants } from "../../../lib/escrow/reads/waiting_merchants.ts";
import { CONTRACT, sampleEvent } from "../../store/samples.ts";

test("a check of many old payments lets other work run", async () => {
  const PAYMENTS = 10_000;
  let [turn, isDone, found] = [0, false, 0];
  const pagesIn = new Map<number, number>();
  const merchants = createWaitingMerchants({
    events: {
      watcherState: () => Promise.resolve(undefined),
      bounds: () => Promise.resolve({ last: PAYMENTS, forgotten: 0 }),
      before: (height) => Promise.resolve(Math.min(height - 1, PAYMENTS)),
      read({ filter: { types }, after = 0, upTo = PAYMENTS, limit }) {
        if (types!.includes("payment.claimed")) return Promise.resolve([]);
        pagesIn.set(turn, (pagesIn.get(turn) ?? 0) + 1);
        const count = Math.max(0, Math.min(limit, upTo - after));
        return Promise.resolve(Array.from({ length: count }, (_, n) => {
          const sequence = after + n + 1;
          return { ...sampleEvent(0), merchant: String(sequence), ledger: sequence, sequence };
        }));
      },
    },
    paymentEscrow: CONTRACT,
    isWaiting: () => false,
  });
  const following = merchants.follow({ from: 1, upTo: 2 * PAYMENTS }, () => found++).finally(() => isDone = true);
  for (; !isDone; turn++) await nextTurn();
  await following;
  assert.ok(found >= PAYMENTS - 1_000, `${found} found`);
  const most = Math.max(...pagesIn.values());
  assert.ok(most <= 2, `${most} pages in one turn`);
});
