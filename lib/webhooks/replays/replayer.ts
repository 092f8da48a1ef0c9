import { setImmediate as othersTurn } from "node:timers/promises";
import type { Store } from "../../store/store.ts";
import type { Replay } from "../../store/webhook_store.ts";
import { deliveryId } from "../delivery/fan_out.ts";
import { earlier, filterQuery } from "./replay.ts";

export interface ReplayerParts {
  store: Pick<Store, "listReplays" | "commitReplay" | "getSubscription" | "readEvents" | "backlog" | "watcherState">;
  /** The last possible position of a ledger. */
  endOfLedger(epoch: number, ledger: number): string;
  /** Unix milliseconds. */
  now(): number;
  /** Called after each commit that holds deliveries, with who got them. */
  onDeliveries(subscriptionIds: Iterable<string>): void;
}

/** The most deliveries of one commit (`Store.commitReplay`). */
const STEP_DELIVERIES = 200;
/** A replay waits while its subscription has so much pending, so that what happens now is not kept waiting behind it. */
const MAX_PENDING = 1_000;
const MAX_REPLAYS = 100;

/** What one round came to: `moved` while there is more to do at once, `idle`, or `waiting` for deliveries or the watcher. */
export type ReplayRound = "moved" | "waiting" | "idle";

/** Works off replays, a piece of each in turn. A step that is repeated after a crash writes the same deliveries again. */
export function createReplayer({ store, endOfLedger, now, onDeliveries }: ReplayerParts): () => Promise<ReplayRound> {
  /** True when it moved on. */
  async function moveOn(replay: Replay): Promise<boolean> {
    const { id, subscriptionId, position, upToPosition } = replay;
    const subscription = await store.getSubscription(subscriptionId);
    if (subscription === undefined) {
      await store.commitReplay({ id, expectedPosition: position, position, done: true, deliveries: [] });
      return true;
    }
    if ((await store.backlog(subscriptionId)).pending >= MAX_PENDING) return false;
    const { epoch = 0, scannedLedger = 0 } = await store.watcherState() ?? {};
    const upTo = earlier(upToPosition, endOfLedger(epoch, scannedLedger));
    // The rest is not held yet.
    if (upTo < upToPosition && position >= upTo) return false;
    const query = { after: position, upTo, limit: STEP_DELIVERIES, ...filterQuery(subscription) };
    const events = position < upTo ? await store.readEvents(query) : [];
    const nowMs = now();
    await store.commitReplay({
      id,
      expectedPosition: position,
      position: events.at(-1)?.position ?? upTo,
      done: events.length < STEP_DELIVERIES && upTo === upToPosition,
      deliveries: events.map((event) => ({
        id: deliveryId(event.position, id),
        subscriptionId,
        position: event.position,
        attempts: 0,
        dueAtMs: nowMs,
        createdAtMs: nowMs,
      })),
    });
    if (events.length > 0) onDeliveries([subscriptionId]);
    return true;
  }

  return async () => {
    const replays = await store.listReplays(MAX_REPLAYS);
    let moved = false;
    for (const replay of replays) {
      moved = await moveOn(replay) || moved;
      await othersTurn();
    }
    return moved ? "moved" : replays.length > 0 ? "waiting" : "idle";
  };
}
