import { encodeCursor } from "../../lib/events/cursor.ts";
import { endOfLedger } from "../../lib/events/position.ts";
import { insert, subscriptionOf } from "../webhooks/parts.ts";
import { createFixture } from "./parts.ts";
import { createSimulatedNode } from "./simulated_node.ts";

export const DEVICE = "ab".repeat(32);
export const OTHER_DEVICE = "cd".repeat(32);
export const MERCHANT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

/** Ten ledgers with two events each, all of them read. */
export async function createRead() {
  const node = createSimulatedNode();
  for (let ledger = 0; ledger < 10; ledger++) {
    node.close({ type: "escrow.funded", deviceHash: DEVICE }, {
      type: "payment.authorized",
      deviceHash: ledger % 2 === 0 ? DEVICE : OTHER_DEVICE,
      merchant: MERCHANT,
    });
  }
  const fixture = await createFixture(node);
  await fixture.watcher.turn();
  return { ...fixture, hashes: node.emitted.map(({ txHash }) => txHash) };
}

/** Ten ledgers with an event each, of which the first four were forgotten; one of those is kept where it is still owed. */
export async function createPruned({ owedLedger }: { owedLedger?: number } = {}) {
  const node = createSimulatedNode();
  for (let ledger = 0; ledger < 10; ledger++) node.close({});
  const fixture = await createFixture(node);
  const { store, watcher } = fixture;
  await watcher.turn();
  const events = await store.readEvents({ limit: 100 });
  const owed = events.filter(({ ledger }) => ledger === owedLedger);
  if (owedLedger !== undefined) await insert(store, subscriptionOf("wh_1"));

  /** Forgets the events up to this ledger of an epoch. */
  async function prune(ledger: number, epoch = 0): Promise<void> {
    const expected = await store.fanOutCursor();
    const deliveries = owed.map(({ position }) => {
      return { id: position, subscriptionId: "wh_1", position, attempts: 0, dueAtMs: 1, createdAtMs: 1 };
    });
    await store.commitFanOut({ expected, cursor: { position: endOfLedger(epoch, 9_999), lastDueAtMs: 1 }, deliveries });
    const [last] = await store.readEvents({ after: endOfLedger(epoch, ledger - 1), limit: 1 });
    const closedBefore = new Date(Date.parse(last!.ledgerClosedAt) + 1_000).toISOString();
    while (await store.pruneEvents(closedBefore) > 0);
  }
  await prune(1_004);
  const hashes = node.emitted.map(({ txHash }) => txHash);
  return { ...fixture, hashes, prune, cursorAt: (ledger: number) => encodeCursor(endOfLedger(0, ledger)) };
}
