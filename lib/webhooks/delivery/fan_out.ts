import { setImmediate as othersTurn } from "node:timers/promises";
import { sameCursor } from "../../store/fan_out_cursor.ts";
import type { Store, StoredEvent } from "../../store/store.ts";
import type { Delivery, FanOutCursor, LateEvent, LateStep } from "../../store/webhook_store.ts";
import type { SubscriptionIndex } from "./matching.ts";
import type { SubscriptionSet } from "./subscription_set.ts";

export interface FanOutParts {
  store: Pick<
    Store,
    "watcherState" | "readEvents" | "fanOutCursor" | "commitFanOut" | "lateEvents" | "commitLateEvents"
  >;
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
const LATE_EVENTS = 100;
/** What was passed without a delivery is written down this often: events before the cursor may be pruned. */
const SAVE_MS = 600_000;

/** The id, unique in its subscription, of the delivery of the event at this position; a replay's are its own. */
export function deliveryId(position: string, replayId?: string): string {
  return replayId === undefined ? position : `${position}:${replayId}`;
}

function firstDelivery({ position }: StoredEvent, subscriptionId: string, dueAtMs: number): Delivery {
  return { id: deliveryId(position), subscriptionId, position, attempts: 0, dueAtMs, createdAtMs: dueAtMs };
}

/**
 * Follows the committed events with a cursor of its own and owes each to every subscription that hears it. A delivery
 * and the cursor behind it are one commit, so nothing is owed twice and nothing falls between, wherever it is killed.
 * What became known behind the cursor is a list in the store, worked off beside it in the same way.
 */
export function createFanOut({ store, subscriptions, endOfLedger, now, onDeliveries }: FanOutParts): FanOut {
  /** As it is in the store; null: not read yet. */
  let cursor: FanOutCursor | undefined | null = null;
  /** All has been looked through up to here; ahead of the cursor where nobody heard anything. */
  let passed = "";
  let savedAtMs = now();

  /** When it is not what it was, another fan-out was faster, or ledgers are scanned again: on from where it stands. */
  async function readCursor(): Promise<void> {
    const held = await store.fanOutCursor();
    if (cursor === null || !sameCursor(held, cursor)) passed = held?.position ?? "";
    cursor = held;
  }

  async function announce(deliveries: Delivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    onDeliveries(new Set(deliveries.map(({ subscriptionId }) => subscriptionId)));
    await othersTurn();
  }

  /** False when the cursor is not what it was: it is read again. */
  async function commit(to: Omit<FanOutCursor, "rereads">, deliveries: Delivery[]): Promise<boolean> {
    const next = cursor?.rereads === undefined ? to : { ...to, rereads: cursor.rereads };
    const done = await store.commitFanOut({ expected: cursor ?? undefined, cursor: next, deliveries });
    cursor = done ? next : null;
    if (done && next.position > passed) passed = next.position;
    if (done) await announce(deliveries);
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
        batch.push(firstDelivery(event, subscriptionId, dueAtMs));
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

  /** Owes as many of these late events as one commit can hold. */
  async function deliverLate(late: LateEvent[], index: SubscriptionIndex): Promise<void> {
    const step: LateStep = { events: [], deliveries: [] };
    const dueAtMs = Math.max(now(), cursor?.lastDueAtMs ?? 0);
    for (const { event, subscriptionId: begun } of late) {
      const room = COMMIT_DELIVERIES - step.deliveries.length;
      if (room === 0 || step.begunUpTo !== undefined) break;
      const ids = index.matching(event).filter((id) => begun === undefined || id > begun);
      step.events.push({ position: event.position, subscriptionId: begun });
      step.deliveries.push(...ids.slice(0, room).map((id) => firstDelivery(event, id, dueAtMs)));
      if (ids.length > room) step.begunUpTo = ids[room - 1];
    }
    if (await store.commitLateEvents(step)) await announce(step.deliveries);
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
      // Before the state: a scan that goes back changes both at once, and then this cursor moves no more.
      await readCursor();
      const state = await store.watcherState();
      if (state === undefined) return false;
      const upTo = endOfLedger(state.epoch, state.scannedLedger);
      const late = await store.lateEvents(LATE_EVENTS);
      // Read after the events' bounds: whoever was told of a subscription before these ledgers closed finds it in here.
      const index = await subscriptions.current();
      if (late.length > 0) await deliverLate(late, index);
      const begun = await begunEvent();
      const from = readFrom(index, upTo);
      const events = from < upTo ? await store.readEvents({ after: from, upTo, limit: PAGE_EVENTS }) : [];
      if (!await deliver([...begun, ...events], index, signal)) return !signal.aborted;
      const hasMore = events.length === PAGE_EVENTS;
      if (!hasMore && upTo > passed) passed = upTo;
      if (now() - savedAtMs >= SAVE_MS) await save();
      return hasMore || late.length > 0;
    },
    save,
  };
}
