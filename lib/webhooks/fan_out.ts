import { setImmediate as othersTurn } from "node:timers/promises";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Delivery, FanOutCursor } from "../store/webhook_store.ts";
import type { SubscriptionIndex } from "./matching.ts";
import type { SubscriptionSet } from "./subscription_set.ts";

export interface FanOutParts {
  store: Pick<Store, "watcherState" | "readEvents" | "fanOutCursor" | "commitFanOut">;
  subscriptions: SubscriptionSet;
  /** The last possible position of a ledger. */
  endOfLedger(epoch: number, ledger: number): string;
  /** Unix milliseconds. */
  now(): number;
  /** Called after each commit that holds deliveries, with who got some. */
  onDeliveries(subscriptionIds: Iterable<string>): void;
}

export interface FanOut {
  /** Turns one page of events into deliveries; true while there may be more. Rejects with what the store rejected with. */
  step(signal: AbortSignal): Promise<boolean>;
  /** Writes down how far it has come, for the one that goes on in its place; by itself it does so now and then. */
  save(): Promise<void>;
}

/** How many events are looked through at a time. */
const PAGE_EVENTS = 1_000;
/** The most deliveries of one commit (`Store.commitFanOut`). */
const COMMIT_DELIVERIES = 200;
/** What was passed without a delivery is written down this often: events before the cursor may be pruned. */
const SAVE_MS = 600_000;

/** The id, unique in its subscription, of the delivery of the event at this position; a replay's are its own. */
export function deliveryId(position: string, replayId?: string): string {
  return replayId === undefined ? position : `${position}:${replayId}`;
}

/**
 * Follows the committed events with a cursor of its own and owes each to every subscription that hears it. A delivery
 * and the cursor behind it are one commit, so nothing is owed twice and nothing falls between, wherever it is killed.
 */
export function createFanOut({ store, subscriptions, endOfLedger, now, onDeliveries }: FanOutParts): FanOut {
  /** As it is in the store; null: not read yet. */
  let cursor: FanOutCursor | undefined | null = null;
  /** All has been looked through up to here; ahead of the cursor where nobody heard anything. */
  let passed = "";
  let savedAtMs = now();

  async function readCursor(): Promise<FanOutCursor | undefined> {
    if (cursor !== null) return cursor;
    cursor = await store.fanOutCursor();
    passed = cursor?.position ?? "";
    return cursor;
  }

  /** False when another fan-out on this store was faster: what it did is read again. */
  async function commit(next: FanOutCursor, deliveries: Delivery[]): Promise<boolean> {
    const done = await store.commitFanOut({ expected: cursor ?? undefined, cursor: next, deliveries });
    cursor = done ? next : null;
    if (done && next.position > passed) passed = next.position;
    if (done && deliveries.length > 0) {
      onDeliveries(new Set(deliveries.map(({ subscriptionId }) => subscriptionId)));
      await othersTurn();
    }
    return done;
  }

  /** Owes these events, ascending, to those who hear them; false when it could not finish. */
  async function deliver(events: StoredEvent[], index: SubscriptionIndex, signal: AbortSignal): Promise<boolean> {
    let batch: Delivery[] = [];
    let dueAtMs = 0;
    for (const event of events) {
      const begun = cursor?.position === event.position ? cursor.subscriptionId : undefined;
      for (const subscriptionId of index.matching(event)) {
        if (begun !== undefined && subscriptionId <= begun) continue;
        // Never due before an earlier event, also when the clock was set back.
        if (batch.length === 0) dueAtMs = Math.max(now(), cursor?.lastDueAtMs ?? 0);
        batch.push({
          id: deliveryId(event.position),
          subscriptionId,
          position: event.position,
          attempts: 0,
          dueAtMs,
          createdAtMs: dueAtMs,
        });
        if (batch.length < COMMIT_DELIVERIES) continue;
        if (signal.aborted) return false;
        if (!await commit({ position: event.position, subscriptionId, lastDueAtMs: dueAtMs }, batch)) return false;
        batch = [];
      }
      if (batch.length === 0) passed = event.position;
    }
    const last = events.at(-1);
    if (last === undefined || batch.length === 0) return true;
    return await commit({ position: last.position, lastDueAtMs: dueAtMs }, batch);
  }

  async function save(): Promise<void> {
    if (cursor === null || passed <= (cursor?.position ?? "")) return;
    savedAtMs = now();
    await commit({ position: passed, lastDueAtMs: cursor?.lastDueAtMs ?? 0 }, []);
  }

  /** Where to read on: no further back than where the first subscription begins to hear. */
  function readFrom({ firstStart }: SubscriptionIndex, upTo: string): string {
    if (firstStart === undefined || firstStart > upTo) return upTo;
    return passed > firstStart ? passed : firstStart;
  }

  /** The event that a commit ended within: some of its subscriptions have it, others have not. */
  async function begunEvent(): Promise<StoredEvent[]> {
    const at = cursor;
    if (at?.subscriptionId === undefined || passed !== at.position) return [];
    // A text without its last character sorts before the whole and after all that sorts before both.
    const near = await store.readEvents({ after: at.position.slice(0, -1), upTo: at.position, limit: 100 });
    return near.filter(({ position }) => position === at.position);
  }

  return {
    async step(signal) {
      const state = await store.watcherState();
      if (state === undefined) return false;
      const upTo = endOfLedger(state.epoch, state.scannedLedger);
      // Read after `upTo`: whoever was told of a subscription before these ledgers closed finds it in here.
      const index = await subscriptions.current();
      await readCursor();
      const begun = await begunEvent();
      const from = readFrom(index, upTo);
      const events = from < upTo ? await store.readEvents({ after: from, upTo, limit: PAGE_EVENTS }) : [];
      if (!await deliver([...begun, ...events], index, signal)) return !signal.aborted;
      const hasMore = events.length === PAGE_EVENTS;
      if (!hasMore && upTo > passed) passed = upTo;
      if (now() - savedAtMs >= SAVE_MS) await save();
      return hasMore;
    },
    save,
  };
}
