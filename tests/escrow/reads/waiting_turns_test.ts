// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createWaitingMerchants } from "../../../lib/escrow/reads/waiting_merchants.ts";

test("a check of many old payments lets other work run", async () => {
  const PAYMENTS = 10_000;
  let [turn, isDone, found] = [0, false, 0];
  const pagesIn = new Map<number, number>();
  const merchants = createWaitingMerchants({
    log: {
      heightOf: (ledger) => Promise.resolve(ledger),
      last: () => Promise.resolve(PAYMENTS),
      before: (height) => Promise.resolve(Math.min(height - 1, PAYMENTS)),
      authorized({ after, upTo = PAYMENTS, limit }) {
        pagesIn.set(turn, (pagesIn.get(turn) ?? 0) + 1);
        const count = Math.max(0, Math.min(limit, upTo - after));
        return Promise.resolve(Array.from({ length: count }, (_, n) => {
          const sequence = after + n + 1;
          return { merchant: String(sequence), height: sequence, sequence };
        }));
      },
      claimedSince: () => Promise.resolve(undefined),
    },
    isWaiting: () => false,
  });
  const following = merchants.follow({ from: 1, upTo: 2 * PAYMENTS }, () => found++).finally(() => isDone = true);
  for (; !isDone; turn++) await nextTurn();
  await following;
  assert.ok(found >= PAYMENTS - 1_000, `${found} found`);
  const most = Math.max(...pagesIn.values());
  assert.ok(most <= 2, `${most} pages in one turn`);
});
